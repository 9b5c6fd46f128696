"""Docker: what is there, what must change, and the loops that change it. What is decided is pure."""
