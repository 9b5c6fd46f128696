"""The floors of kit/: which module imports which, and whether each imports only from its own floor and those below it.

A floor is the first part of a module's name after `kit.`: a package, or a module at the top. Imports inside functions
and those for types alone count like any other. Nothing here is imported from kit/: trees are read, not run.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

# From the bottom to the top: each imports only what comes before it in this list.
FLOORS = (
    "errors", "units", "files", "metrics", "diagnostics", "gpu", "cards", "manifest", "facts", "memory", "stack",
    "routers", "engines", "assemble", "planner", "compose", "status", "doctor", "verify", "output", "project",
    "governor", "kubernetes", "bench", "commands", "cli",
)  # fmt: skip
# The floors that are one module at the top of kit/; every other floor is a package.
LOOSE = ("errors", "units", "files", "metrics", "gpu", "cards", "assemble", "cli")
OLD_FLOORS = Path(__file__).with_name("old_floors.txt")


@dataclass(frozen=True)
class Module:
    """One file of kit/: `name` is dotted, `file` is its path in the tree."""

    name: str
    file: str
    text: str
    tree: ast.Module


@dataclass(frozen=True)
class Import:
    """`module` imports `target`, for the first time in `line` of `file`."""

    module: str
    target: str
    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.module} imports {self.target}"


@cache
def modules(root: Path) -> tuple[Module, ...]:
    """Every Python file of `root`/kit. Read once: a tree must be complete before it is looked at."""
    return tuple(_module(root, path) for path in sorted((root / "kit").rglob("*.py")))


def _module(root: Path, path: Path) -> Module:
    where = path.relative_to(root)
    text = path.read_text(encoding="utf-8")
    name = ".".join(where.with_suffix("").parts).removesuffix(".__init__")
    return Module(name, where.as_posix(), text, ast.parse(text, str(where)))


def imports(root: Path) -> list[Import]:
    """The imports of one file of kit/ by another, each pair once."""
    known = {one.name for one in modules(root)}
    found: dict[tuple[str, str], Import] = {}
    for one in modules(root):
        for target, line in _targets(one, known):
            if target != one.name:
                found.setdefault((one.name, target), Import(one.name, target, one.file, line))
    return list(found.values())


def _targets(module: Module, known: set[str]) -> Iterator[tuple[str, int]]:
    """(module of kit, line): `from kit.a import b` is kit.a.b where that is a module, and kit.a otherwise."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom):
            base = _base(module, node)
            for alias in node.names:
                name = next((name for name in (f"{base}.{alias.name}", base) if name in known), None)
                if name is not None:
                    yield name, node.lineno


def _base(module: Module, node: ast.ImportFrom) -> str:
    """The package that a `from` names, also where it is relative."""
    parts = module.name.split(".")
    kept = len(parts) - node.level + module.file.endswith("__init__.py")
    return ".".join([*(parts[:kept] if node.level else ()), *(node.module or "").split(".")]).rstrip(".")


def old_floors() -> dict[str, str]:
    """Modules and packages of the tree before the floors -> the floor that each of them became part of."""
    lines = OLD_FLOORS.read_text(encoding="utf-8").splitlines()
    return dict(line.split() for line in lines if line and not line.startswith("#"))


def floor_of(module: str, moved: Mapping[str, str] | None = None) -> str:
    """`moved` overrules names: its longest entry that is the module or a package around it."""
    parts = module.split(".")[1:]
    names = (".".join(parts[:end]) for end in range(len(parts), 0, -1))
    return next((moved[name] for name in names if moved and name in moved), parts[0] if parts else "")


def back_up(arrows: Iterable[Import], moved: Mapping[str, str] | None = None) -> list[Import]:
    """Imports that lead from a floor to a higher one."""
    height = {floor: n for n, floor in enumerate(FLOORS)}
    ends = ((one, height.get(floor_of(one.module, moved)), height.get(floor_of(one.target, moved))) for one in arrows)
    return [one for one, low, high in ends if low is not None and high is not None and low < high]


def without_floor(root: Path, moved: Mapping[str, str] | None = None) -> list[str]:
    """Modules whose name begins with no floor."""
    return [one.name for one in modules(root) if one.name != "kit" and floor_of(one.name, moved) not in FLOORS]


def circles(arrows: Iterable[Import]) -> list[list[str]]:
    """Modules that import each other, directly or through others; the largest circle first."""
    after: dict[str, set[str]] = {}
    for one in arrows:
        after.setdefault(one.module, set()).add(one.target)
    reached = {name: _reached(name, after) for name in after}
    found = {
        tuple(sorted(other for other in reached[name] if name in reached.get(other, ())))
        for name in after
        if name in reached[name]
    }
    return sorted(map(list, found), key=lambda circle: (-len(circle), circle))


def _reached(start: str, after: Mapping[str, set[str]]) -> set[str]:
    seen: set[str] = set()
    ahead = [start]
    while ahead:
        new = after.get(ahead.pop(), set()) - seen
        seen |= new
        ahead += new
    return seen
