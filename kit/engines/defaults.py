"""What an engine's module offers where it has nothing of the kind."""

from __future__ import annotations


def nothing(*args: object, **kwargs: object) -> tuple[()]:
    """Nothing refused, downloaded, put in between or written to a file."""
    return ()
