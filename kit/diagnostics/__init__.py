"""Known messages of foreign programs, and what each means: cause and fix."""
