"""`status`: what runs, and how it is."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kit.targets import compose
from kit.targets.compose import ServiceStatus
from kit.verbs.inputs import read_project
from kit.verbs.output import Output


def run(output: Output, file: Path) -> int:
    project = read_project(file)
    found = compose.status(project.manifest.name, compose.connect(os.environ))
    if output.as_json:
        output.json({"project": project.manifest.name, "services": [_json(one) for one in found]})
        return 0
    if not found:
        output.print(f"nothing of {project.manifest.name} runs; `monogpu-kit up` starts it")
        return 0
    output.console().print(_table(found))
    return 0


def _json(one: ServiceStatus) -> dict[str, Any]:
    return {
        "service": one.service,
        "role": one.role,
        "names": list(one.names),
        "state": one.state,
        "health": one.health,
        "restarts": one.restarts,
        "started": one.started.isoformat() if one.started else None,
        "exit_code": one.exit_code,
        "image": one.image,
    }


def _table(found: tuple[ServiceStatus, ...]) -> Any:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE, pad_edge=False)
    for name in ("service", "answers to", "state", "since", "restarts"):
        table.add_column(name, justify="right" if name in ("since", "restarts") else "left")
    for one in found:
        state = one.state if one.exit_code is None else f"{one.state} ({one.exit_code})"
        table.add_row(
            one.service,
            ", ".join(one.names),
            f"{state}, {one.health}" if one.health else state,
            _since(one.started),
            str(one.restarts),
        )
    return table


def _since(started: datetime | None) -> str:
    if started is None:
        return ""
    seconds = int((datetime.now(UTC) - started).total_seconds())
    return f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"
