"""What is kept and for how long: the trash, what can be rescued, what may go, and the life of workspaces."""
