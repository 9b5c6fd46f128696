"""Plans, checks, what runs and what was measured: in words (rich), as JSON, and as a page with charts."""
