"""The size and shape of kit/ and templates/: statements, lengths, names of classes. Nothing is run."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.support.floors import LOOSE, Module, modules

LONGEST_FUNCTION = 46  # lines
LONGEST_MODULE = 250
SHORTEST_MODULE = 60  # but for plug-ins
# A plug-in is one of several modules with the same contents, or a table; it is as short as what it describes.
PLUG_INS = (
    "kit/engines/", "kit/routers/", "kit/commands/", "kit/bench/experiments/", "kit/diagnostics/vllm_",
    "kit/diagnostics/hub_", "kit/diagnostics/docker_", "kit/diagnostics/log_",
)  # fmt: skip
# The same in the tree before the floors, for a fair comparison.
OLD_PLUG_INS = ("kit/verbs/", "kit/known/")
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Length:
    """What is `lines` long, and where it begins."""

    what: str
    lines: int

    def __str__(self) -> str:
        return f"{self.what}: {self.lines} lines"


def statements(module: Module) -> int:
    """Logical lines: every statement, docstrings left out. No way of writing or wrapping changes the count."""
    nodes = list(ast.walk(module.tree))
    documented = [node for node in nodes if isinstance(node, ast.Module | ast.ClassDef | Function)]
    return sum(isinstance(node, ast.stmt) for node in nodes) - sum(ast.get_docstring(n) is not None for n in documented)


def template_lines(root: Path) -> int:
    """Lines of templates/ that are not blank."""
    files = [path for path in (root / "templates").rglob("*") if path.is_file()]
    return sum(bool(line.strip()) for path in files for line in path.read_text(encoding="utf-8").splitlines())


def packages(root: Path) -> list[str]:
    """The packages at the top of kit/."""
    return sorted({one.name.split(".")[1] for one in modules(root) if one.file.count("/") > 1})


def loose(root: Path) -> list[str]:
    """The modules at the top of kit/."""
    return [one.name.split(".")[1] for one in modules(root) if one.file.count("/") == 1 and one.name != "kit"]


def stray(root: Path) -> list[str]:
    """Modules at the top of kit/ that are no floor by themselves."""
    return [name for name in loose(root) if name not in LOOSE]


def classes(root: Path, aliases: bool = False) -> dict[str, list[str]]:
    """Public class name -> the modules that define it; with `aliases` also names of types, `Size = Literal[...]`."""
    found: dict[str, list[str]] = {}
    for one in modules(root):
        for name in (name for node in one.tree.body for name in _types(node, aliases)):
            found.setdefault(name, []).append(one.name)
    return found


def _types(node: ast.stmt, aliases: bool) -> Iterator[str]:
    if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
        yield node.name
    elif aliases and isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        names = [target.id for target in targets if isinstance(target, ast.Name)]
        yield from (name for name in names if name[0].isupper() and not name.isupper())


def ambiguous(root: Path, aliases: bool = False) -> dict[str, list[str]]:
    """Public class names that more than one module defines."""
    return {name: places for name, places in sorted(classes(root, aliases).items()) if len(set(places)) > 1}


def functions(root: Path) -> list[Length]:
    """Every function and method from `def` to its last line."""
    return [
        Length(f"{one.file}:{node.lineno} {node.name}", (node.end_lineno or node.lineno) - node.lineno + 1)
        for one in modules(root)
        for node in ast.walk(one.tree)
        if isinstance(node, Function)
    ]


def files(root: Path) -> list[Length]:
    return [Length(one.file, len(one.text.splitlines())) for one in modules(root)]


def long_functions(root: Path) -> list[Length]:
    return [one for one in functions(root) if one.lines > LONGEST_FUNCTION]


def long_modules(root: Path) -> list[Length]:
    return [one for one in files(root) if one.lines > LONGEST_MODULE]


def short_modules(root: Path, plug_ins: tuple[str, ...] = PLUG_INS) -> list[Length]:
    """Modules that should be part of a neighbour; a package's `__init__` may be as short as it likes."""
    own = [one for one in files(root) if not one.what.startswith(plug_ins) and not one.what.endswith("/__init__.py")]
    return [one for one in own if one.lines < SHORTEST_MODULE]


# ---- sentences as keys

# What is compared or taken apart there are other programs' words.
FOREIGN = {"kit/compose/client.py", "kit/verify/client.py", "kit/files.py", "kit/bench/session.py"}
TAKEN_APART = {"split", "rsplit", "partition", "rpartition", "startswith", "endswith", "removeprefix", "removesuffix"}
SENTENCE = re.compile(r"[a-z]+,? [a-z]|^[,;:] $|; ")


def sentence_keys(root: Path) -> list[str]:
    """Where a sentence of kit's own is compared with, or taken apart: file:line and the words."""
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted((root / "kit").rglob("*.py"))}
    choices = {text for tree in trees.values() for node in ast.walk(tree) for text in _choices(node)}
    found = []
    for path, tree in trees.items():
        file = path.relative_to(root).as_posix()
        if file in FOREIGN or file.startswith("kit/diagnostics/"):
            continue
        texts = (text for node in ast.walk(tree) for text in _texts(node) if text.value not in choices)
        found += [f"{file}:{text.lineno}: {text.value!r}" for text in texts if SENTENCE.search(text.value)]
    return found


def _choices(node: ast.AST) -> list[str]:
    """The values of a `Literal[...]`: a closed set, and no sentences."""
    if not (isinstance(node, ast.Subscript) and ast.unparse(node.value) == "Literal"):
        return []
    return [
        each.value for each in ast.walk(node.slice) if isinstance(each, ast.Constant) and isinstance(each.value, str)
    ]


def _texts(node: ast.AST) -> list[ast.Constant]:
    """The literals that a comparison compares with, or that a method takes a text apart by."""
    used: list[ast.expr] = []
    if isinstance(node, ast.Compare):
        used = [each for side in (node.left, *node.comparators) for each in getattr(side, "elts", [side])]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in TAKEN_APART:
        used = node.args
    return [each for each in used if isinstance(each, ast.Constant) and isinstance(each.value, str)]
