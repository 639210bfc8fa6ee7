"""Everything a unit did becomes one commit under ``refs/prun/``."""
