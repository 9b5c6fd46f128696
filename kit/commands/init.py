"""`init`: write a manifest to begin with, for the card that is here."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from kit.errors import KitError
from kit.gpu import Gpu, GpuError, ask_driver, ask_host
from kit.manifest.scaffold import SCHEMA_FILE, picks, schema_text, starter
from kit.output.console import Output
from kit.project.files import read_text, write_atomically
from kit.project.load import (
    LIVE,
    given_gpu,
)


@dataclass(frozen=True)
class Target:
    """The card to write for; `why` says how it was found where nobody named it."""

    gpu: Gpu
    why: str = ""


def run(output: Output, gpu: str | None, path: Path, force: bool) -> int:
    target = _target(gpu)
    text = starter(target.gpu)
    if str(path) == "-":
        output.out.write(text)
        return 0
    if not force and read_text(path) not in (None, text):
        raise KitError(
            f"{path} is there already, and is left alone; write elsewhere with -o, or replace it with --force"
        )
    write_atomically(path, text)
    write_atomically(path.parent / SCHEMA_FILE, schema_text())
    _say(output, target, path)
    return 0


def _target(asked: str | None) -> Target:
    """What --gpu names; else the first card; else, where no driver answers, the CPU: that starts anywhere."""
    if asked and asked != LIVE:
        return Target(given_gpu(asked))
    try:
        return Target(ask_driver("0"))
    except GpuError:
        if asked:
            raise
        why = "no NVIDIA driver answers here, so it serves on the CPU; for a card: `init --gpu 16GiB --force`"
        return Target(ask_host(), why)


def _say(output: Output, target: Target, path: Path) -> None:
    names = ", ".join(f"{pick.name} ({pick.source})" for pick in picks(target.gpu))
    output.print(f"wrote {path} for {target.gpu.name}: {names}")
    output.print(f"wrote {path.parent / SCHEMA_FILE}, by which editors complete it")
    if target.why:
        output.say(target.why)
    file = "" if path.name == "monogpu.yaml" and path.parent == Path() else f" {path}"
    output.say(f"next: monogpu-kit check{file}; monogpu-kit plan{file}; monogpu-kit up{file}")
