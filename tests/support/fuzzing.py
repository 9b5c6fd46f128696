"""Bad input: manifests and compose files of every kind of wrong, and what must hold of each.

An input is one of the files in the tree with a few edits (a piece put in, a span taken out, a value exchanged), text
that looks like YAML, or bytes. Whatever it is: it is read, or refused with a KitError that says where; no other
exception, no hang, and no file that was not finished.
"""

from __future__ import annotations

import io
import re
import signal
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import yaml
from hypothesis import strategies as st

from kit.commands import render
from kit.compose import config
from kit.compose.config_errors import placed
from kit.errors import KitError, Problem
from kit.manifest.yaml_document import load_bytes
from kit.output.console import Output
from kit.stack.render import is_ours
from tests.support.composefiles import lengthen, printed
from tests.support.manifests import parse
from tests.support.paths import ROOT

HANG = 20.0  # seconds
EXAMPLE = ROOT / "compose" / "trio-16gb"
REFUSED = (2, 3, 4, 6)  # a manifest, a card, a machine, a model's files: never our own bug

PIECES = (
    " ", "\n", "\n  ", "\n    ", "- ", ": ", ":", "[", "]", "{", "}", ",", "'", '"', "#", "\t", "\r\n", "&x ", "*x",
    "!t ", "<<: ", "? ", "|\n", ">-\n", "---\n", "...\n", "%YAML 1.1\n", "@", "`", "=", "\0", "\ufeff", "é", "🦙",
    "\u2028", "\x85", "$", "$$", "${", "${A", "${A:?why}", "${A:-${B:-c}}", "${A:+x}", "0", "-1", "1e999", "0x1f",
    "12:30", "1_000", ".inf", ".nan", "99999999999999999999", "null", "~", "yes", "true", "2026-01-01", "8k", "4GiB",
    "1.5G", "--port", "../..", "/", "x" * 300, "models:\n", "  - name: a\n", "services:\n", "    env: {A: b}\n",
    "    args: [--port, 1]\n", "a: {b: }\n",
)  # fmt: skip


def seeds(kind: str) -> tuple[str, ...]:
    """The tree's own manifests (of these one that can be rendered, for a render), or compose files."""
    if kind == "render":
        return ((EXAMPLE / "monogpu.yaml").read_text(encoding="utf-8"),)
    if kind == "manifest":
        paths = [*ROOT.glob("compose/*/monogpu.yaml"), *ROOT.glob("tests/golden/bad/*.yaml")]
    else:
        paths = [*ROOT.glob("compose/*/docker-compose.yaml")]
    return tuple(path.read_text(encoding="utf-8") for path in sorted(paths))


@dataclass(frozen=True)
class Edit:
    """At a share `at` of the text: `cut` characters are taken out, and `piece` is put in; or a value is exchanged."""

    at: float
    cut: int
    piece: str
    value: bool


def apply(text: str, edits: Sequence[Edit]) -> str:
    for edit in edits:
        text = _exchanged(text, edit) if edit.value else _cut(text, edit)
    return text


def _cut(text: str, edit: Edit) -> str:
    place = int(edit.at * len(text))
    return text[:place] + edit.piece + text[place + edit.cut :]


def _exchanged(text: str, edit: Edit) -> str:
    """The words behind one of the colons are replaced."""
    found = list(re.finditer(r"(?<=: )[^\n{\[]+", text))
    if not found:
        return text
    chosen = found[int(edit.at * len(found))]
    return text[: chosen.start()] + edit.piece + text[chosen.end() :]


EDITS = st.builds(
    Edit,
    st.floats(0, 1, exclude_max=True),
    st.sampled_from((0, 0, 0, 1, 2, 5, 20, 100)),
    st.sampled_from(PIECES) | st.text(max_size=4),
    st.booleans(),
)


def texts(kind: str) -> st.SearchStrategy[bytes]:
    """Inputs of a kind, most of them near what is right."""
    good = sorted(seeds(kind), key=len)[-4:]  # the examples are the longest
    some = st.just(()) | st.tuples(EDITS) | st.lists(EDITS, max_size=4)
    near = st.builds(apply, st.sampled_from(good) | st.sampled_from(seeds(kind)), some)
    if kind == "render":
        return st.builds(apply, st.sampled_from(good), some).map(lambda text: text.encode("utf-8", "surrogatepass"))
    likely = st.lists(st.sampled_from(PIECES), max_size=25).map("".join)
    encoded = (near | near | near | near | near | likely).map(lambda text: text.encode("utf-8", "surrogatepass"))
    return encoded | encoded | encoded | encoded | encoded | st.binary(max_size=200)


class Hang(AssertionError):
    """An input took too long."""


@contextmanager
def bounded(seconds: float = HANG) -> Iterator[None]:
    """Raises Hang when the body takes longer. For the main thread."""

    def struck(number: int, frame: object) -> None:
        raise Hang(f"took longer than {seconds:g} s")

    before = signal.signal(signal.SIGALRM, struck)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def manifest_is_read_or_refused(data: bytes) -> bool:
    """Whether it is a manifest."""
    with bounded():
        try:
            parse(load_bytes(data, "monogpu.yaml"))
        except KitError as error:
            assert error.problems and str(error)
            return False
    return True


def compose_is_read_or_refused(data: bytes) -> bool:
    """Whether the kit drives a project that Compose would resolve to this; and its places are found, or are not."""
    text, file = data.decode("utf-8", "replace"), Path("/srv/p/docker-compose.yaml")
    with bounded():
        assert placed(Problem("no"), ("services", "chat", "volumes", 0, "source"), {file: text}).what
        try:
            found = yaml.safe_load(text)
        except (yaml.YAMLError, ValueError, RecursionError):
            return False
        with suppress(AttributeError, KeyError, TypeError, ValueError):
            lengthen(found)
        try:
            made = config.project(found, file)
        except KitError as error:
            assert error.problems and str(error)
            return False
    assert made.name and made.services is not None
    return True


def render_writes_all_or_nothing(data: bytes) -> bool:
    """Whether it is rendered. Beside the manifest lie the facts and the card that the examples were recorded with."""
    with tempfile.TemporaryDirectory() as name, bounded():
        folder = Path(name)
        for each in ("facts.json", "gpu.json"):
            (folder / each).write_bytes((EXAMPLE / each).read_bytes())
        file = folder / "monogpu.yaml"
        file.write_bytes(data)
        err = io.StringIO()
        output = Output(io.StringIO(), err)
        code = output.guard(lambda: render.run(output, file, None, None, "compose", False, False))
        written = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
        made = written - {"facts.json", "gpu.json", "monogpu.yaml"}
        if code:
            assert code in REFUSED and err.getvalue(), f"exit {code}: {err.getvalue()}"
            assert not made, made
            return False
        _whole(folder, made)
        return True


def _whole(folder: Path, made: set[str]) -> None:
    text = (folder / "docker-compose.yaml").read_text(encoding="utf-8")
    assert is_ours(text) == "ours"
    assert {"docker-compose.yaml", "smg/workers.json"} <= made
    assert not [path for path in made if Path(path).name.startswith(".")]
    variables = dict.fromkeys(re.findall(r"\$\{([A-Za-z_][A-Za-z0-9_]*)", text), "x")
    assert printed(text, folder / "docker-compose.yaml", variables).services
