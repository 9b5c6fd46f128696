"""`doctor`: what this machine lacks, with the command that fixes it."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from kit.doctor.collect import look
from kit.doctor.diagnose import diagnose, failing, requirements
from kit.doctor.model import Finding, Requirements
from kit.errors import ManifestError, ModelFilesError, TargetError
from kit.facts.hub import read_recorded
from kit.output.checks import findings_lines
from kit.output.console import Output
from kit.project.load import read_project


def run(output: Output, file: Path) -> int:
    needed, folder, about = _needed(file)
    output.say("checking this machine; a container is started where a card is used")
    machine, needed = look(needed, folder, output.environ)
    findings = (*about, *diagnose(machine, needed))
    if output.as_json:
        output.json({"ok": not failing(findings), "findings": [asdict(finding) for finding in findings]})
    else:
        console = output.console()
        for line in findings_lines(findings, console.width):
            console.print(line, soft_wrap=True)
    return TargetError.exit_code if failing(findings) else 0


def _needed(file: Path) -> tuple[Requirements, Path, tuple[Finding, ...]]:
    """What the manifest needs; without one, or with a broken one, only the machine is checked."""
    if not file.exists():
        what = f"{file} does not exist: only the machine is checked"
        return Requirements(card="0"), file.parent, (Finding("manifest", "warn", what, "monogpu-kit init"),)
    try:
        project = read_project(file)
    except ManifestError as error:
        what = f"{len(error.problems)} problem{'s' if len(error.problems) > 1 else ''} in {file}"
        return Requirements(card="0"), file.parent, (Finding("manifest", "fail", what, f"monogpu-kit check {file}"),)
    with suppress(ModelFilesError):
        return requirements(project.manifest, read_recorded(project.folder / "facts.json")), project.folder, ()
    return requirements(project.manifest, {}), project.folder, ()
