"""What a worker changed of the user's repository: seen, told, put back."""
