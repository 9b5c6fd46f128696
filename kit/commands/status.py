"""`status`: what runs, and how it is; with --watch again and again. A service that fails makes the exit code 5."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from kit.compose import up
from kit.errors import VerificationError
from kit.gpu import Gpu, GpuError
from kit.metrics import Load
from kit.output.console import Output
from kit.output.status import NARROW, lines
from kit.project.load import LIVE, Project, choose_gpu, read_project
from kit.status.collect import look
from kit.status.model import (
    Status,
    as_json,
    by_name,
)

BETWEEN = 1.0  # seconds between the two looks that tokens a second need


def run(output: Output, file: Path, watch: bool, interval: float) -> int:
    project = read_project(file)
    client = up.connect(os.environ)

    def ask(before: Mapping[str, Load]) -> Status:
        return look(client, project.manifest.name, lambda: _card(project), before)

    first = ask({})
    if watch and not output.as_json and output.out.isatty():
        _watch(output, ask, first, interval)
        return 0
    status = first
    if by_name(first.services):
        time.sleep(BETWEEN)
        status = ask(by_name(first.services))
    if output.as_json:
        output.json(as_json(status))
    else:
        output.print(*lines(status, max(output.console().width, NARROW)))
    return VerificationError.exit_code if status.failing else 0


def _card(project: Project) -> Gpu | None:
    """What the workers share, as it is now; None when nobody can say."""
    try:
        return choose_gpu(project, LIVE)
    except GpuError:
        return None


def _watch(output: Output, ask: Callable[[Mapping[str, Load]], Status], first: Status, interval: float) -> None:
    """Until Ctrl-C."""
    from rich.live import Live
    from rich.text import Text

    console, status = output.console(), first
    try:
        with Live(console=console, screen=True, auto_refresh=False) as live:
            while True:
                words = [*lines(status, console.width), "", f"every {interval:g} s; Ctrl-C ends"]
                live.update(Text("\n".join(words)), refresh=True)
                time.sleep(interval)
                status = ask(by_name(status.services))
    except KeyboardInterrupt:
        output.print(*lines(status, console.width))
