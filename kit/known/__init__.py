"""Foreign words that the kit knows, by what they are about: each module is one table, read from the top."""
