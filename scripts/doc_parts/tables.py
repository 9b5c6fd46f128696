"""Tables of the command line, the manifest and the source tree, from the code itself."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


def keys() -> str:
    """Every key of the manifest, from its JSON Schema."""
    from kit.manifest.model import schema

    made = schema()
    rows = ["| key | default | what it is |", "|---|---|---|"]
    rows += _rows(made, made, "")
    return "\n".join(rows)


def _rows(whole: dict, part: dict, prefix: str) -> list[str]:
    rows = []
    for name, entry in part["properties"].items():
        inner = _inner(whole, entry)
        default = "required" if name in part.get("required", []) else _default(entry)
        path = f"{prefix}{name}"
        if inner is None:
            rows.append(f"| `{path}` | {default} | {cell(entry.get('description', ''))} |")
            continue
        listed = entry.get("type") == "array"
        rows += _rows(whole, inner, f"{path}[]." if listed else f"{path}.")
    return rows


def _inner(whole: dict, entry: dict) -> dict | None:
    """The object that an entry refers to, directly or in a list."""
    for candidate in (entry, entry.get("items", {}), *entry.get("allOf", []), *entry.get("anyOf", [])):
        found = re.fullmatch(r"#/\$defs/(\w+)", candidate.get("$ref", ""))
        if found and "properties" in whole["$defs"][found.group(1)]:
            return whole["$defs"][found.group(1)]
    return None


def _default(entry: dict) -> str:
    value = entry.get("default")
    if value in (None, [], {}):
        return "none"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def cards() -> str:
    """Every card that --gpu knows by name, with the CUDA context that a plan charges for it."""
    from kit.cards import CARDS
    from kit.memory.constants import constants_for
    from kit.units import MIB

    head = [
        "| card | nvidia-smi, MiB | programs, MiB | capability | CUDA context, MiB | source |",
        "|---|--:|--:|---|--:|---|",
    ]
    rows = (
        (
            one.name,
            one.total,
            one.usable_mib,
            one.capability,
            constants_for(one.capability).context // MIB,
            one.usable_source,
        )
        for one in CARDS
    )
    return "\n".join([*head, *(f"| {' | '.join(cell(str(each)) for each in row)} |" for row in rows)])


def commands() -> str:
    """Every command, from the command line's own help."""
    import typer.main

    from kit.cli import app

    group = typer.main.get_command(app)
    rows = ["| command | arguments and options | does |", "|---|---|---|"]
    for name, command in group.commands.items():
        usage = " ".join(f"`{_usage(parameter)}`" for parameter in command.params if not _is_help(parameter))
        rows.append(f"| `{name}` | {usage} | {cell(command.help or '')} |")
    return "\n".join(rows)


def _is_help(parameter: object) -> bool:
    return getattr(parameter, "name", "") == "help"


def _usage(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        shown = str(parameter.metavar or parameter.name).upper().strip("[]")
        return f"[{shown}]" if not parameter.required else shown
    flag = parameter.opts[-1]
    return f"[{flag}]" if parameter.is_flag else f"[{flag} {(parameter.metavar or parameter.name or '').upper()}]"


def exits() -> str:
    """Exit codes, from the error classes."""
    from kit import errors

    rows = ["| code | means |", "|---|---|", "| 0 | good |"]
    kinds = sorted(errors.KitError.__subclasses__(), key=lambda kind: (kind.exit_code, kind.__name__))
    seen: set[int] = set()
    for kind in kinds:
        if kind.exit_code in seen or not kind.__module__.endswith("errors"):
            continue
        seen.add(kind.exit_code)
        rows.append(f"| {kind.exit_code} | {cell((kind.__doc__ or '').split(';')[0].splitlines()[0].rstrip('.'))} |")
    rows += ["| 1 | a file on disk differs or cannot be written, or a bug of ours |", "| 130 | interrupted |"]
    return "\n".join(rows)


def refused() -> str:
    """The keys of Docker Compose that `up` does not translate."""
    from kit.compose.config_keys import REFUSED

    rows = ["| key | instead |", "|---|---|"]
    return "\n".join([*rows, *(f"| `{path}` | {cell(instead)} |" for path, instead in REFUSED.items())])


def values() -> str:
    """The keys of Docker Compose of which `up` translates only some values."""
    from kit.compose.config_keys import VALUES

    rows = ["| key | what is refused otherwise |", "|---|---|"]
    return "\n".join([*rows, *(f"| `{path}` | {cell(instead)} |" for path, (_, instead) in VALUES.items())])


def rules() -> str:
    """What the checker of Kubernetes objects demands."""
    from kit.kubernetes.checker import RULES

    rows = ["| rule | what it demands |", "|---|---|"]
    return "\n".join([*rows, *(f"| {rule.name} | {cell(rule.demands)} |" for rule in RULES)])


def packages() -> str:
    """Where things are, floor by floor, by what the modules say of themselves."""
    from tests.support.floors import FLOORS

    rows = ["| where | what |", "|---|---|"]
    for name in FLOORS:
        module, package = ROOT / "kit" / f"{name}.py", ROOT / "kit" / name / "__init__.py"
        rows += [f"| `kit/{name}.py` | {_first_words(module)} |"] if module.exists() else []
        rows += [f"| `kit/{name}/` | {_first_words(package)} |"] if package.exists() else []
    return "\n".join(rows)


def _first_words(file: Path) -> str:
    """The first paragraph of a module's docstring, in one line."""
    said = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    return cell(" ".join(said.partition("\n\n")[0].split()))
