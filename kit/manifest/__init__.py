"""The manifest: YAML with places, as types, validated, and its problems in words."""
