"""Docker Compose projects: what runs, what must change, and the loops that change it."""
