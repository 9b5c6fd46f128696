"""The services, networks, volumes and files of one compose project, as values, and how they are printed."""
