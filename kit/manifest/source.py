"""Where a model's or an adapter's files come from: a folder, or a repository on the Hugging Face Hub."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from kit.errors import quoted
from kit.manifest.refused import Refused

# https://huggingface.co/docs/huggingface_hub: letters, digits, - _ . but not at the ends, no -- and no ..
_PART = r"[A-Za-z0-9](?:[A-Za-z0-9_]|[-.](?=[A-Za-z0-9_]))*"
_HUB = re.compile(rf"({_PART}/{_PART})(?:@([A-Za-z0-9][A-Za-z0-9._/-]*))?")
_URL = re.compile(r"(?:https?://)?(?:hf\.co|huggingface\.co)/([^/\s]+/[^/\s@?#]+).*|hf://([^/\s]+/[^/\s]+)")
_NEEDED = "needed: a Hugging Face id such as Qwen/Qwen2.5-0.5B-Instruct, or a folder that begins with ./ or / or ~"


@dataclass(frozen=True)
class Source:
    """`place` is a folder as written, or a repository owner/name on the Hub at `revision` (None: its newest)."""

    kind: Literal["folder", "hub"]
    place: str
    revision: str | None = None


def parse_source(text: str) -> Source:
    """`./folder`, `/folder`, `~/folder`; else `owner/name` or `owner/name@revision`. Raises Refused."""
    if text.startswith((".", "/", "~")):
        return _folder(text)
    match = _HUB.fullmatch(text)
    if match and len(match.group(1)) <= 96:
        return Source("hub", match.group(1), match.group(2))
    raise Refused(f"{quoted(text)} is no source", _NEEDED, _hint(text))


def _folder(text: str) -> Source:
    if text.startswith(("./", "../", "/", "~/")) or text in (".", "..", "~"):
        return Source("folder", text)
    raise Refused(f"{quoted(text)} is no source", "needed: a folder that begins with ./ or ../ or / or ~/")


def _hint(text: str) -> str:
    url = _URL.fullmatch(text)
    if url:
        return f"did you mean {url.group(1) or url.group(2)}?"
    if "\\" in text or text.count("/") > 1 or ("/" in text and text.endswith("/")):
        return f"a folder is written ./{text}" if "\\" not in text else "a folder is written with /"
    return f"an id has its owner: OWNER/{text}" if re.fullmatch(_PART, text) else ""
