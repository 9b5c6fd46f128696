"""Files, as the verbs use them."""

from __future__ import annotations

from kit.files import read_text, write_atomically

__all__ = ["read_text", "write_atomically"]
