"""The values everybody speaks: units, plans, names, errors; pure."""
