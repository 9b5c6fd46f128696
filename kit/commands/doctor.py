"""`doctor`: what this machine lacks, with the command that fixes it."""

from __future__ import annotations

import contextlib
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from kit import gpu as cards
from kit.compose import up
from kit.compose.client import compose_version
from kit.compose.load import dotenv
from kit.doctor import collect_docker, collect_host
from kit.doctor.diagnose import diagnose, sick
from kit.doctor.finding import Finding
from kit.doctor.machine import Access, Machine
from kit.doctor.requirements import Requirements, requirements
from kit.engines import mps
from kit.errors import ManifestError, ModelFilesError, TargetError
from kit.facts.hub import read_recorded
from kit.output.console import Output
from kit.output.doctor import lines
from kit.project.files import read_text
from kit.project.load import read_project

if TYPE_CHECKING:
    from docker import DockerClient


def run(output: Output, file: Path) -> int:
    needed, folder, about = _wants(file)
    output.say("looking at this machine; a container is started where a card is used")
    machine, needed = look(needed, folder)
    findings = (*about, *diagnose(machine, needed))
    if output.as_json:
        output.json({"ok": not sick(findings), "findings": [finding.as_json() for finding in findings]})
    else:
        _print(output, findings)
    return TargetError.exit_code if sick(findings) else 0


def _print(output: Output, findings: tuple[Finding, ...]) -> None:
    from rich.text import Text

    console = output.console()
    for line, colour in lines(findings, console.width):
        text = Text(line, overflow="ignore", no_wrap=True)
        if colour:
            text.stylize(colour, 0, 5)
        console.print(text, soft_wrap=True)


def _wants(file: Path) -> tuple[Requirements, Path, tuple[Finding, ...]]:
    """What the manifest needs; without one, or with a broken one, the machine alone is looked at."""
    if not file.exists():
        what = f"{file} is not there: the machine alone is looked at"
        return Requirements(card="0"), file.parent, (Finding("manifest", "warn", what, "monogpu-kit init"),)
    try:
        project = read_project(file)
    except ManifestError as error:
        what = f"{len(error.problems)} problem{'s' if len(error.problems) > 1 else ''} in {file}"
        return Requirements(card="0"), file.parent, (Finding("manifest", "fail", what, f"monogpu-kit check {file}"),)
    with contextlib.suppress(ModelFilesError):
        return requirements(project.manifest, read_recorded(project.folder / "facts.json")), project.folder, ()
    return requirements(project.manifest, {}), project.folder, ()


def look(needed: Requirements, folder: Path) -> tuple[Machine, Requirements]:
    """One look at everything; what nobody wants is not looked at."""
    machine = _files(needed, folder)
    machine = replace(machine, compose=compose_version(os.environ))
    machine = _card(machine, needed)
    if not needed.project and machine.card is None:
        needed = replace(needed, card=None)
    machine = _hub(machine, needed)
    try:
        client = up.connect(os.environ)
    except TargetError as error:
        problem = error.problems[0]
        said = f"{problem.what}: {problem.needed}" if problem.hint else problem.what
        return replace(
            machine, refused=(said, problem.hint or problem.needed), host=collect_host.host([needed.port], "")
        ), needed
    return _docker(machine, needed, client), needed


def _files(needed: Requirements, folder: Path) -> Machine:
    """Variables, keys and models' folders."""
    beside: dict[str, str] = {}
    env = folder / ".env"
    with contextlib.suppress(ValueError):
        beside = dotenv(read_text(env) or "", os.environ)
    names = {name for name, value in {**beside, **os.environ}.items() if value}
    path = folder / Path(needed.key_file).expanduser() if needed.key_file else None
    key = collect_host.key_file(path) if path else None
    variable = next((name for name, user in (needed.variables or {}).items() if user == "router.api_key"), None)
    length = key.length if key else len({**beside, **os.environ}.get(variable, "")) if variable else None
    return Machine(
        set=frozenset(names),
        dotenv=frozenset(beside),
        dotenv_mode=env.stat().st_mode if env.exists() else None,
        key_file=key,
        key_length=length,
        unreadable=_unreadable(needed, folder),
    )


def _unreadable(needed: Requirements, folder: Path) -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    for name in needed.folders:
        with contextlib.suppress(OSError):
            found[name] = collect_host.unreadable(folder / Path(name).expanduser(), needed.user_is_root)
    return found


def _card(machine: Machine, needed: Requirements) -> Machine:
    if needed.card is None:
        return machine
    try:
        card = cards.ask_driver(needed.card)
    except cards.GpuError as error:
        return replace(machine, no_card=error.problems[0].what.split("; needed")[0])
    return replace(machine, card=card, compute_mode=cards.compute_mode(needed.card))


def _hub(machine: Machine, needed: Requirements) -> Machine:
    if not needed.repositories:
        return machine
    import httpx

    from kit.doctor.collect_hub import access
    from kit.facts.hub import default_hub

    seen: dict[str, Access]
    with httpx.Client(follow_redirects=True) as http:
        seen, ahead = access(needed.repositories, default_hub(), http)
    return replace(machine, hub=seen, hub_ahead=ahead)


def _docker(machine: Machine, needed: Requirements, client: DockerClient) -> Machine:
    engine = collect_docker.engine(client)
    machine = replace(
        machine,
        engine=engine,
        images=collect_docker.images(client, needed.images or ()),
        published=collect_docker.published(client),
        ours=collect_docker.ours(client, needed.project) if needed.project else machine.ours,
        host=collect_host.host([needed.port] if engine.local else [], engine.root if engine.local else ""),
    )
    image = collect_docker.first_here(client, [*needed.engine_images, *(needed.images or ())])
    if needed.card is None or image is None:
        return machine
    programs = mps.PROGRAMS if needed.mps else ()
    return replace(machine, sight=collect_docker.sight(client, image, needed.access, needed.card, programs))
