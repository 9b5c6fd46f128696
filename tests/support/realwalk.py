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

from kit.compose import up
from tests.fakes.cardengine import REAL
from tests.support.walks import ROOT, Walk, free_port

SECONDS = 1800.0  # a start is 35 s on two idle cores, and these may be busy


@contextlib.contextmanager
def example(name: str, folder: Path) -> Iterator[Walk]:
    """The example, of which nothing runs yet; one of the same name that runs already is left alone."""
    text = (ROOT / "compose" / name / "monogpu.yaml").read_text()
    with project(folder, name) as made:
        text, renamed = re.subn(f"^name: {name}$", f"name: {made.name}", text, flags=re.MULTILINE)
        text = re.sub("^  port: .*\n", "", text, flags=re.MULTILINE)
        text, moved = re.subn("^router:$", f"router:\n  port: {made.port}", text, flags=re.MULTILINE)
        assert (renamed, moved) == (1, 1)
        (folder / "monogpu.yaml").write_text(text)
        yield made


@contextlib.contextmanager
def project(folder: Path, example: str) -> Iterator[Walk]:
    """A project with a name and a port of its own and an example's files; its manifest is still to be written."""
    for part in ("models", "adapters"):
        if (ROOT / "compose" / example / part).exists():
            shutil.copytree(ROOT / "compose" / example / part, folder / part, copy_function=_placed)
    client = up.connect(os.environ)
    host = os.environ.get("DOCKER_HOST", f"unix://{REAL}")
    made = Walk(f"mgk-r-{uuid4().hex[:8]}", folder, host, client, free_port(), seconds=SECONDS)
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
