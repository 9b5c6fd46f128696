"""An example of compose/ served by real engines on the CPU, under a name and a port of its own."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

from openai import OpenAI

from kit.targets import compose
from tests.cardengine import REAL
from tests.walks import ROOT, Walk, free_port

SECONDS = 900.0  # a start is 35 s on two idle cores, and these may be busy


@contextlib.contextmanager
def example(name: str, folder: Path) -> Iterator[Walk]:
    """The example, of which nothing runs yet; one of the same name that runs already is left alone."""
    project, port = f"mgk-r-{uuid4().hex[:8]}", free_port()
    text = (ROOT / "compose" / name / "monogpu.yaml").read_text()
    text, renamed = re.subn(f"^name: {name}$", f"name: {project}", text, flags=re.MULTILINE)
    text, moved = re.subn("^router:$", f"router:\n  port: {port}", text, flags=re.MULTILINE)
    assert (renamed, moved) == (1, 1)
    (folder / "monogpu.yaml").write_text(text)
    for part in ("models", "adapters"):
        if (ROOT / "compose" / name / part).exists():
            shutil.copytree(ROOT / "compose" / name / part, folder / part, copy_function=_placed)
    client = compose.connect(os.environ)
    host = os.environ.get("DOCKER_HOST", f"unix://{REAL}")
    made = Walk(project, folder, host, client, port, seconds=SECONDS)
    try:
        yield made
    finally:
        made.vanish()
        client.close()


def openai(at: Walk) -> OpenAI:
    """The client that everybody uses, at the stack's address."""
    return OpenAI(base_url=f"http://127.0.0.1:{at.port}/v1", api_key="none", timeout=180, max_retries=0)


def _placed(source: str, target: str) -> None:
    """Links take no space; another file system takes copies."""
    try:
        Path(target).hardlink_to(source)
    except OSError:
        shutil.copy2(source, target)
