"""What is going on in a repository while its units work: seen without a lock, judged by pure rules."""
