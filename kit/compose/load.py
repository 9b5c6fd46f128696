"""docker-compose.yaml as it is on disk -> ProjectSpec. Pure: text and variables come in.

The file decides, hand-edited or not. It may hold what the kit prints and plain edits of it; a key that is not read here
is an error at its line, because to ignore it would start something else than `docker compose up` does.

Variables are replaced as Docker Compose does: `$$` is a dollar; `$NAME` and `${NAME}` the value, or nothing; `:-` a
default for unset or empty, `-` for unset; `:?` and `?` stop with a message; `:+` and `+` give another text when there
is a value. Defaults and messages may nest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from kit.compose.load_fields import boolean, only, pairs, text
from kit.compose.load_service import (
    LoadContext,
    service,
)
from kit.compose.spec import NetworkSpec, ProjectSpec, ServiceSpec, VolumeSpec, boot_order
from kit.compose.yaml_node import Node, entries, fields, map_text, parse
from kit.errors import Problem, TargetError

_PROJECT = re.compile(r"[a-z0-9][a-z0-9_-]*")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_BODY = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(?:(:?[-?+])(.*))?", re.DOTALL)
_LINE = re.compile(r"\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_.]*)\s*[=:]\s*(.*?)\s*")
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", '"': '"', "\\": "\\", "$": "$$"}


def project(content: str, file: Path, variables: Mapping[str, str]) -> ProjectSpec:
    """The compose file `file` (absolute), which says `content`. Raises TargetError with every problem found."""
    return _project(_interpolated(parse(content, file.name), variables), file, variables)


def project_name(content: str, file: Path, variables: Mapping[str, str]) -> str:
    """The project's name alone: secrets may be unset, and the rest of the file is not read."""
    name = fields(parse(content, file.name)).get("name")
    return _name(None if name is None else _interpolated(name, variables), file, variables)


def _interpolated(root: Node, variables: Mapping[str, str]) -> Node:
    problems: list[Problem] = []

    def change(value: str, node: Node) -> str:
        try:
            return interpolate(value, variables)
        except MissingVariableError as error:
            problems.append(node.problem(f"{error.name} is not set", error.words, f"export {error.name}=..."))
        except ValueError as error:
            problems.append(node.problem(str(error)))
        except RecursionError:
            problems.append(node.problem("variables nested too deeply", "write fewer ${...} inside each other"))
        return value

    done = map_text(root, change)
    if problems:
        raise TargetError(problems)
    return done


def _name(node: Node | None, file: Path, variables: Mapping[str, str]) -> str:
    folder = re.sub(r"[^a-z0-9_-]", "", file.parent.name.lower()).lstrip("_-")
    name = variables.get("COMPOSE_PROJECT_NAME") or (text(node) if node else folder)
    if not _PROJECT.fullmatch(name):
        problem = Problem(f"{name!r} cannot be a project's name", "write `name:` with a-z, 0-9, - and _")
        raise TargetError(node.problem(problem.what, problem.needed) if node else problem)
    return name


def _project(root: Node, file: Path, variables: Mapping[str, str]) -> ProjectSpec:
    top = only(root, "name", "version", "services", "networks", "volumes")
    if "services" not in top:
        raise root.wrong("services:")
    name = _name(top.get("name"), file, variables)
    networks = {key: _network(item, key, name) for key, item in entries(top.get("networks"))}
    networks.setdefault("default", NetworkSpec("default", f"{name}_default"))
    volumes = {key: _volume(item, key, name) for key, item in entries(top.get("volumes"))}
    context = LoadContext(name, file.parent, variables, networks, volumes)
    services = _services(top["services"], context)
    used = {use.network for each in services for use in each.networks}
    mounted = {mount.source for each in services for mount in each.mounts if mount.kind == "volume"}
    kept = tuple(network for key, network in networks.items() if key in used)
    return ProjectSpec(
        name, file, services, kept, tuple(volume for volume in volumes.values() if volume.name in mounted)
    )


def _network(node: Node, key: str, project: str) -> NetworkSpec:
    found = only(node, "name", "external", "internal", "driver", "driver_opts") if node.value is not None else {}
    if "driver" in found and text(found["driver"]) != "bridge":
        raise found["driver"].wrong("bridge")
    return NetworkSpec(*_resource(found, key, project), "internal" in found and boolean(found["internal"]))


def _volume(node: Node, key: str, project: str) -> VolumeSpec:
    found = only(node, "name", "external", "driver", "driver_opts") if node.value is not None else {}
    if "driver" in found and text(found["driver"]) != "local":
        raise found["driver"].wrong("local")
    return VolumeSpec(*_resource(found, key, project))


def _resource(found: Mapping[str, Node], key: str, project: str) -> tuple[str, str, bool, tuple[tuple[str, str], ...]]:
    """Key, name, external and options."""
    external = "external" in found and boolean(found["external"])
    default = key if external else f"{project}_{key}"
    options = pairs(found["driver_opts"]) if "driver_opts" in found else []
    name = text(found["name"]) if "name" in found else default
    return key, name, external, tuple(sorted((option, value or "") for option, value in options))


def _services(node: Node, context: LoadContext) -> tuple[ServiceSpec, ...]:
    services: list[ServiceSpec] = []
    problems: list[Problem] = []
    for name, item in entries(node):
        try:
            services.append(service(name, item, context))
        except TargetError as error:
            problems += error.problems
    needs = {each.name: [need.service for need in each.depends_on] for each in services}
    problems = problems or list(_broken_order(node, needs))
    if problems:
        raise TargetError(problems)
    by_name = {each.name: each for each in services}
    return tuple(by_name[name] for name in boot_order(by_name, needs))


def _broken_order(node: Node, needs: Mapping[str, Sequence[str]]) -> Iterator[Problem]:
    where = dict(entries(node))
    for name, wanted in needs.items():
        for missing in sorted(set(wanted) - set(needs)):
            yield where[name].problem(f"{name} waits for `{missing}`, which is no service", "fix `depends_on`")
    order = boot_order(needs, needs)
    for place, name in enumerate(order):
        if later := set(needs[name]) & set(order[place:]):
            yield where[name].problem(f"{name} and {', '.join(sorted(later))} wait for each other", "fix `depends_on`")


class MissingVariableError(ValueError):
    """A variable that the file demands is not set; `words` are the file's message."""

    def __init__(self, name: str, words: str) -> None:
        self.name = name
        self.words = words
        super().__init__(f"{name} is not set: {words}")


def interpolate(text: str, variables: Mapping[str, str]) -> str:
    """`text` with its variables replaced. Raises MissingVariableError, or ValueError for a lone dollar."""
    done: list[str] = []
    at = 0
    while (dollar := text.find("$", at)) >= 0:
        value, end = _expression(text, dollar + 1, variables)
        done += [text[at:dollar], value]
        at = end
    return "".join(done) + text[at:]


def _expression(text: str, at: int, variables: Mapping[str, str]) -> tuple[str, int]:
    if text.startswith("$", at):
        return "$", at + 1
    if text.startswith("{", at):
        end = _closing(text, at)
        return _braced(text[at + 1 : end], variables), end + 1
    if name := _NAME.match(text, at):
        return variables.get(name.group(), ""), name.end()
    raise ValueError(f"a lone $ in {text!r}; a dollar is written $$")


def _closing(text: str, at: int) -> int:
    depth = 0
    for place in range(at, len(text)):
        depth += (text[place] == "{") - (text[place] == "}")
        if depth == 0:
            return place
    raise ValueError(f"${{ without }} in {text!r}")


def _braced(body: str, variables: Mapping[str, str]) -> str:
    match = _BODY.fullmatch(body)
    if not match:
        raise ValueError(f"${{{body}}} names no variable")
    name, operator, rest = match.groups()
    value = variables.get(name)
    if not operator:
        return value or ""
    there = bool(value) if operator.startswith(":") else value is not None
    if operator.endswith("+"):
        return interpolate(rest, variables) if there else ""
    if there:
        return value or ""
    if operator.endswith("?"):
        raise MissingVariableError(name, interpolate(rest, variables))
    return interpolate(rest, variables)


def dotenv(text: str, environ: Mapping[str, str]) -> dict[str, str]:
    """The variables of a `.env` file; values may use earlier ones and the environment. Raises ValueError."""
    found: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        match = _LINE.fullmatch(line)
        if match:
            found[match.group(1)] = _value(match.group(2), {**found, **environ})
        elif not _NAME.fullmatch(line.strip()):
            raise ValueError(f"line {number} is not NAME=value")
    return found


def _value(text: str, variables: Mapping[str, str]) -> str:
    if text[:1] == "'" and (end := text.find("'", 1)) > 0:
        return text[1:end]
    quoted = re.match(r'"((?:[^"\\]|\\.)*)"', text)
    if quoted:
        plain = re.sub(r"\\(.)", lambda m: _ESCAPES.get(m.group(1), m.group(0)), quoted.group(1))
        return interpolate(plain, variables)
    return interpolate(re.split(r"(?:^|\s)#", text, maxsplit=1)[0].rstrip(), variables)
