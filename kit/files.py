"""Writing files so that a reader sees the old or the new one, never half."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

from kit.errors import KitError


def write_atomically(path: Path, content: str | bytes, mode: int = 0o644) -> None:
    """Write beside, then rename; text as UTF-8. Raises KitError when the folder cannot be written or is full."""
    name = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
            name = file.name
            file.write(content if isinstance(content, bytes) else content.encode())
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(mode)
        Path(name).replace(path)
    except OSError as error:
        if name:
            with contextlib.suppress(OSError):
                Path(name).unlink()
        raise KitError(f"{path} cannot be written: {error.strerror}; nothing was changed") from None


def read_text(path: Path) -> str | None:
    """What a file says, None when there is none. Raises KitError when it cannot be read."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise KitError(f"{path} cannot be read: {error}") from None
