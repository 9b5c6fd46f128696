"""`up`: render where needed, ask the card, say what changes, drive the file, compare the footprints, verify."""

from kit.project.apply import run as run
