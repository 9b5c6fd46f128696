"""Decisions are pure: who may import what has effects, read from the sources; and what the command line loads."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.support.paths import ROOT

# What has effects, or is slow to load -> the modules (and all below them) that may import it.
MAY_IMPORT = {
    "docker": ("kit.compose", "kit.doctor.collect_docker", "kit.bench.load_containers"),
    "requests": ("kit.compose.client",),  # what the Docker SDK raises
    "httpx": ("kit.doctor.collect", "kit.verify", "kit.commands", "kit.kubernetes.api", "kit.kubernetes.traffic"),
    "kubernetes": ("kit.kubernetes.api", "kit.kubernetes.streams"),
    "websocket": ("kit.kubernetes.streams",),
    "subprocess": ("kit.compose.compose_cli",),
    "huggingface_hub": ("kit.facts.hub",),
    "psutil": ("kit.gpu", "kit.compose.observe", "kit.doctor.collect_host"),
    "pynvml": ("kit.gpu",),
    "rich": ("kit.output", "kit.commands"),
    "jinja2": ("kit.stack.render",),
    "matplotlib": ("kit.bench.html",),
    "typer": ("kit.cli",),
    "socket": ("kit.kubernetes.streams",),
    "shutil": (),
    "tempfile": ("kit.kubernetes.inside",),
}
# Imported inside the functions that use them: `monogpu-kit check` need not wait for Docker's SDK.
LATE = (
    "kubernetes",
    "websocket",
    "docker",
    "requests",
    "httpx",
    "huggingface_hub",
    "psutil",
    "pynvml",
    "rich",
    "jinja2",
    "matplotlib",
)
EFFECTS = ("docker", "requests", "httpx", "subprocess", "huggingface_hub", "rich", "matplotlib", "typer", "tempfile")
# Packages that decide. Elsewhere a module that decides says "Pure." in its docstring.
PURE = ("kit.diagnostics", "kit.manifest", "kit.memory", "kit.stack", "kit.routers", "kit.engines", "kit.planner")
PURE += ("kit.kubernetes.checker", "kit.kubernetes.layout", "kit.kubernetes.workloads", "kit.kubernetes.network")
# Programs of their own: they run in containers, and no module imports them.
PROGRAMS = ("kit.routers.smg_launch", "kit.engines.vllm_guard", "kit.bench.load_server")
# The distribution that brings a module, where its name is another.
BRINGS = {
    "websocket": "kubernetes",
    "yaml": "pyyaml", "pynvml": "nvidia-ml-py", "requests": "docker", "urllib3": "docker", "pydantic_core": "pydantic",
}  # fmt: skip


@dataclass(frozen=True)
class Import:
    """`module` imports `what`; `late` inside a function. Imports for types alone are none."""

    module: str
    what: str
    late: bool

    @property
    def top(self) -> str:
        return self.what.partition(".")[0]


def modules() -> dict[str, ast.Module]:
    files = sorted((ROOT / "kit").rglob("*.py"))
    named = {".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): file for file in files}
    return {name: ast.parse(file.read_text()) for name, file in named.items() if name not in PROGRAMS}


def imports(name: str, node: ast.AST, late: bool = False) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
            continue
        if isinstance(child, ast.Import):
            yield from (Import(name, alias.name, late) for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            assert not child.level, f"{name}: relative import"
            yield from (Import(name, f"{child.module}.{alias.name}", late) for alias in child.names)
        inside = late or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        yield from imports(name, child, inside)


MODULES = modules()
ALL = [found for name, tree in MODULES.items() for found in imports(name, tree)]


def below(name: str, places: tuple[str, ...]) -> bool:
    return any(name == place or name.startswith(f"{place}.") for place in places)


def test_there_is_something_to_look_at() -> None:
    assert {("kit.cli", "typer"), ("kit.compose.client", "docker")} <= {(one.module, one.top) for one in ALL}


@pytest.mark.parametrize("what", MAY_IMPORT)
def test_effects_are_imported_at_the_edge_alone(what: str) -> None:
    strays = {one.module for one in ALL if one.top == what and not below(one.module, MAY_IMPORT[what])}
    assert not strays, f"{what} is imported by {', '.join(sorted(strays))}"


def test_heavy_libraries_are_imported_inside_functions() -> None:
    early = {f"{one.module} imports {one.what}" for one in ALL if one.top in LATE and not one.late}
    assert not early


def is_pure(name: str, tree: ast.Module) -> bool:
    return below(name, PURE) or bool(re.search(r"\bPure\b", ast.get_docstring(tree) or ""))


def reached(name: str) -> set[str]:
    """The modules that a module imports, and those that they import."""
    found, left = set(), [name]
    while left:
        one = left.pop()
        imported = {
            each.what if each.what in MODULES else each.what.rpartition(".")[0] for each in ALL if each.module == one
        }
        left += (imported & MODULES.keys()) - found
        found |= imported & MODULES.keys() | {one}
    return found


def test_pure_modules_reach_no_effect() -> None:
    pure = [name for name, tree in MODULES.items() if is_pure(name, tree)]
    assert len(pure) > 100
    effects = {one.module: one.top for one in ALL if one.top in EFFECTS}
    assert not {f"{name}: {one} imports {effects[one]}" for name in pure for one in reached(name) if one in effects}


def uses(tree: ast.Module, *texts: str) -> set[str]:
    wanted = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute | ast.Call)]
    named = {ast.unparse(node.func) + "()" if isinstance(node, ast.Call) else ast.unparse(node) for node in wanted}
    return named & set(texts)


def test_only_the_command_line_prints_exits_and_reads_the_environment() -> None:
    words = ("print()", "input()", "exit()", "sys.exit()", "sys.stdout", "sys.stderr")
    strays = {
        name: ", ".join(found)
        for name, tree in modules().items()
        if not below(name, ("kit.cli", "kit.output.console")) and (found := uses(tree, *words))
    }
    environ = ("os.environ", "os.getenv()", "environ")
    strays |= {name: "environ" for name, tree in modules().items() if name != "kit.cli" and uses(tree, *environ)}
    assert not strays


def test_every_library_that_is_imported_is_declared() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    listed = [*project["dependencies"], *project["optional-dependencies"]["report"]]
    listed += project["optional-dependencies"]["kubernetes"]
    declared = {text.partition(">")[0].strip().lower() for text in listed}
    used = {one.top for one in ALL} - sys.stdlib_module_names - {"kit"}
    assert {BRINGS.get(name, name) for name in used} == declared


def test_the_command_line_loads_nothing_heavy() -> None:
    """What `--help` waits for."""
    heavy = ("pydantic", "docker", "httpx", "huggingface_hub", "rich", "jinja2", "yaml", "pynvml", "requests")
    code = f"import sys, kit.cli; print(*(name for name in {heavy} if name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_check_loads_no_docker_and_no_network() -> None:
    heavy = ("docker", "httpx", "huggingface_hub", "rich", "jinja2", "pynvml", "requests")
    code = (
        "import sys; from pathlib import Path; from kit.commands.check import run; "
        "from kit.output.console import Output; "
        "code = run(Output(sys.stderr, sys.stderr), Path('compose/trio-16gb/monogpu.yaml')); "
        f"print(code, *(name for name in {heavy} if name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["0"]
