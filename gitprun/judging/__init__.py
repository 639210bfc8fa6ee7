"""What git's or a resolver's text is worth: one judge for every entrance."""
