"""How the place a unit works in is made."""
