"""The models' files: folders that containers can read, and repositories that this token may read. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kit.doctor.finding import Finding, Severity
from kit.doctor.machine import Access, Machine
from kit.doctor.requirements import Requirements

TOKEN = "HF_TOKEN"


def folders(machine: Machine, wants: Requirements) -> Iterator[Finding]:
    """Containers run without capabilities, on a card as root and on the CPU as nobody: a file that only its owner may
    read stays closed to them."""
    for folder in wants.folders:
        if folder not in machine.unreadable:
            yield Finding("folder", "unknown", f"{folder}: nobody could look", f"ls -l {folder}")
        elif (file := machine.unreadable[folder]) is not None:
            what = f"{folder}: the container's user may not read {file}"
            yield Finding("folder", "fail", what, f"chmod -R a+rX {folder}")
        else:
            yield Finding("folder", "ok", f"{folder} can be read")


def repositories(machine: Machine, wants: Requirements) -> Iterator[Finding]:
    """What is to be downloaded can be. What an earlier start brought is served without the Hub."""
    denied: dict[Access, list[str]] = {}
    for name in wants.repositories or {}:
        access = machine.hub.get(name)
        if access is None:
            yield Finding("Hugging Face", "unknown", f"{name}: not asked")
        elif not access.word:
            yield Finding("Hugging Face", "ok", f"{name} may be read")
        else:
            denied.setdefault(access, []).append(name)
    for access, names in denied.items():
        yield _denied(names, access, machine)
    if machine.hub and TOKEN not in machine.set and any(a.word == "refused" for a in machine.hub.values()):
        what = f"{TOKEN} is not set; a token that `hf auth login` saved does not reach the containers"
        yield Finding("Hugging Face", "warn", what, f"export {TOKEN}=$(cat ~/.cache/huggingface/token)")


def _denied(names: Sequence[str], access: Access, machine: Machine) -> Finding:
    severity: Severity = "warn" if machine.ours.downloads else "fail"
    there = "; what was downloaded before is served all the same" if machine.ours.downloads else ""
    wanted = f", and {', '.join(names)} {'is' if len(names) == 1 else 'are'} there" if access.word == "away" else ""
    return Finding("Hugging Face", severity, f"{access.what}{wanted}{there}", access.fix)
