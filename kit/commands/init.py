"""`init`: write a commented manifest for the card of this machine."""

from __future__ import annotations

from pathlib import Path

from kit.errors import KitError
from kit.files import read_text, write_atomically
from kit.gpu import Gpu, GpuError, ask_driver, ask_host
from kit.manifest.scaffold import SCHEMA_FILE, picks, schema_text, starter
from kit.output.console import Output
from kit.project.load import LIVE, given_gpu

NO_DRIVER = "no NVIDIA driver answers here, so it serves on the CPU; for a card: `init --gpu 16GiB --force`"


def run(output: Output, gpu: str | None, path: Path, force: bool) -> int:
    card, note = _card(gpu)
    text = starter(card)
    if str(path) == "-":
        output.out.write(text)
        return 0
    if not force and read_text(path) not in (None, text):
        raise KitError(f"{path} exists, and is left alone; write elsewhere with -o, or replace it with --force")
    write_atomically(path, text)
    write_atomically(path.parent / SCHEMA_FILE, schema_text())
    models = ", ".join(f"{pick.name} ({pick.source})" for pick in picks(card))
    output.print(f"wrote {path} for {card.name}: {models}")
    output.print(f"wrote {path.parent / SCHEMA_FILE}, by which editors complete it")
    file = "" if path.name == "monogpu.yaml" and path.parent == Path() else f" {path}"
    output.say(*note, f"next: monogpu-kit check{file}; monogpu-kit plan{file}; monogpu-kit up{file}")
    return 0


def _card(asked: str | None) -> tuple[Gpu, tuple[str, ...]]:
    """The card that --gpu names, else the first card, else, where no driver answers, the CPU; and what to say of it."""
    if asked and asked != LIVE:
        return given_gpu(asked), ()
    try:
        return ask_driver("0"), ()
    except GpuError:
        if asked:
            raise
        return ask_host(), (NO_DRIVER,)
