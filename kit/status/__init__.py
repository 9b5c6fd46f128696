"""What runs of a project, and how it is."""
