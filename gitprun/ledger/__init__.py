"""What happened, as events, and the state that follows from them."""
