"""How the manifest is read: what single values may be, what they may not say together, and why. Pure."""
