"""Progress of a download, from the Engine's messages."""

from __future__ import annotations

from functools import reduce
from typing import Any

from kit.compose.client import Layers, advance, progress


def told(layer: str, status: str, current: int = 0, total: int = 0) -> dict[str, Any]:
    return {"id": layer, "status": status, "progressDetail": {"current": current, "total": total} if total else {}}


def after(*messages: dict[str, Any]) -> tuple[int, int]:
    none: Layers = {}
    return progress(reduce(advance, messages, none))


def test_bytes_are_summed_over_the_layers() -> None:
    assert after() == (0, 0)
    assert after(told("a", "Pulling fs layer"), told("a", "Downloading", 10, 100)) == (10, 100)
    assert after(told("a", "Downloading", 10, 100), told("b", "Downloading", 5, 50)) == (15, 150)
    assert after(told("a", "Downloading", 10, 100), told("a", "Downloading", 90, 100)) == (90, 100)


def test_a_layer_that_is_here_stays_here_while_it_is_unpacked() -> None:
    downloading = told("a", "Downloading", 10, 100)
    assert after(downloading, told("a", "Download complete")) == (100, 100)
    assert after(downloading, told("a", "Download complete"), told("a", "Extracting", 1, 300)) == (100, 100)
    assert after(downloading, told("a", "Pull complete")) == (100, 100)


def test_messages_about_the_image_change_nothing() -> None:
    assert after({"status": "Pulling from library/debian", "id": ""}, {"status": "Digest: sha256:1"}) == (0, 0)
    assert after(told("a", "Already exists")) == (0, 0)
