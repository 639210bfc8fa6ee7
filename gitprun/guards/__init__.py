"""What keeps a worker from touching history: rules for refs and commands, and where hooks are installed."""
