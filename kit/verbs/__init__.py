"""The verbs behind cli.py: each walks as far as it must and returns what is to be printed and the exit code."""
