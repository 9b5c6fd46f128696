"""The manifest: YAML with places, its types, its rules, and what is wrong with it."""
