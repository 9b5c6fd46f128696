"""What a worker costs on its card, line by line: the bill."""
