"""`render`: the compose file, and the files it mounts."""

from kit.project.write import run as run
