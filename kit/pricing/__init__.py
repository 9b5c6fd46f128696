"""What the parts of a worker cost on its card, and the rungs it may stand on. Pure."""
