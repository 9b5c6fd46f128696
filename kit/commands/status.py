"""`status`: what runs, and how it is. The exit code is 5 when a service fails."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from kit.compose import up
from kit.compose.compose_cli import not_as_billed
from kit.errors import TargetError, VerificationError
from kit.gpu import Gpu, GpuError
from kit.metrics import Load
from kit.output.console import Output
from kit.output.status import NARROW, lines
from kit.project.load import LIVE, choose_gpu, read_project
from kit.status.collect import collect
from kit.status.model import Status, as_json, by_name

BETWEEN = 1.0  # seconds between the two looks that tokens a second need


def run(output: Output, file: Path, watch: bool, interval: float) -> int:
    project = read_project(file)
    client = up.connect(output.environ)

    def card() -> Gpu | None:
        """What the workers share, as it is now; None where the driver does not say."""
        with suppress(GpuError):
            return choose_gpu(project, LIVE)
        return None

    def ask(before: Mapping[str, Load]) -> Status:
        return replace(collect(client, project.manifest.name, card, before), not_as_billed=changed)

    changed: Mapping[str, tuple[str, ...]] = {}
    with suppress(TargetError):  # without Compose, or with a broken file, what runs is shown all the same
        changed = not_as_billed(project.folder, output.environ)
    status = ask({})
    if watch and not output.as_json and output.out.isatty():
        _watch(output, ask, status, interval)
        return 0
    if loads := by_name(status.services):
        time.sleep(BETWEEN)
        status = ask(loads)
    output.show(as_json(status), *lines(status, max(output.console().width, NARROW)))
    return VerificationError.exit_code if status.failing else 0


def _watch(output: Output, ask: Callable[[Mapping[str, Load]], Status], status: Status, interval: float) -> None:
    """Until Ctrl-C."""
    from rich.live import Live
    from rich.text import Text

    console = output.console()
    with suppress(KeyboardInterrupt), Live(console=console, screen=True, auto_refresh=False) as live:
        while True:
            shown = [*lines(status, console.width), "", f"every {interval:g} s; Ctrl-C ends"]
            live.update(Text("\n".join(shown)), refresh=True)
            time.sleep(interval)
            status = ask(by_name(status.services))
    output.print(*lines(status, console.width))
