"""`docker compose config` reads what the kit prints, and finds in it what the kit meant. Needs the CLI, no engine."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from kit.assemble import assemble
from kit.memory.bill import Plan
from kit.stack.compose_keys import escaped_keys
from kit.stack.model import (
    Secret,
    Service,
    Stack,
    Value,
)
from kit.stack.render import render
from kit.stack.yaml_lines import Arguments, Flow, Node, lines
from tests.support.paths import RECORDED, ROOT
from tests.support.strategies import ODD, TEXT, WORDS_OF_YAML, plan, plans, stacks

pytestmark = pytest.mark.docker

BEFORE = RECORDED / "printed-before"
EXAMPLES = sorted(manifest.parent.name for manifest in ROOT.glob("compose/*/monogpu.yaml"))
# Every example is a run of Compose: the same ones each time, and a failure is shown as it was found, not shrunk.
SOME = settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=list(HealthCheck),
)
VALUE = 'a $secret: "with" everything'


def config(text: str, secrets: set[str], *more: str) -> subprocess.CompletedProcess[str]:
    environment = dict.fromkeys(secrets, VALUE) | {name: os.environ[name] for name in ("PATH", "HOME")}
    command = ["docker", "compose", "-f", "-", *more, "config", "--format", "json"]
    return subprocess.run(command, input=text, env=environment, capture_output=True, text=True, check=False)


def read(stack: Stack) -> dict[str, Any]:
    """The services as Compose understands them. It prints every `$` doubled."""
    values = [value for one in stack.services for value in (*one.command, *dict(one.environment).values())]
    asked = config(render(stack).compose, {value.name for value in values if isinstance(value, Secret)})
    assert asked.returncode == 0, asked.stderr
    found: dict[str, Any] = json.loads(asked.stdout, object_hook=_single)["services"]
    return found


def _single(found: dict[str, Any]) -> dict[str, Any]:
    return {key: _undouble(value) for key, value in found.items()}


def _undouble(value: Any) -> Any:
    if isinstance(value, list):
        return [_undouble(item) for item in value]
    return value.replace("$$", "$") if isinstance(value, str) else value


def meant(value: Value) -> str:
    return VALUE if isinstance(value, Secret) else value


def expected(service: Service) -> dict[str, Any]:
    health = service.health
    return {
        "command": [meant(value) for value in service.command] or None,
        "entrypoint": None if service.entrypoint is None else list(service.entrypoint),
        "environment": {name: meant(value) for name, value in service.environment},
        "labels": dict(service.labels),
        "test": None if health is None else ["CMD", *health.command],
        "depends_on": dict(service.depends_on),
        "networks": {place.network: list(place.aliases) for place in service.networks},
        "network_mode": None if service.networks else "none",
        "restarts_with": set(service.restarts_with),
        "ipc": None,
        "pid": None,
        "init": True,
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges:true"],
        "user": service.user,
        "restart": service.restart,
    }


def heard(service: dict[str, Any]) -> dict[str, Any]:
    return {
        "command": service.get("command"),
        "entrypoint": service.get("entrypoint"),
        "environment": service.get("environment", {}),
        "labels": service.get("labels", {}),
        "test": service.get("healthcheck", {}).get("test"),
        "depends_on": {name: on["condition"] for name, on in service.get("depends_on", {}).items()},
        "networks": {name: (place or {}).get("aliases", []) for name, place in service.get("networks", {}).items()},
        "network_mode": service.get("network_mode"),
        "restarts_with": {name for name, on in service.get("depends_on", {}).items() if on.get("restart")},
        "ipc": service.get("ipc"),
        "pid": service.get("pid"),
        "init": service.get("init", False),
        "cap_drop": service.get("cap_drop"),
        "security_opt": service.get("security_opt"),
        "user": service.get("user"),
        "restart": service["restart"],
    }


@SOME
@given(stacks(most=12))
def test_compose_finds_what_the_stack_means(stack: Stack) -> None:
    found = read(stack)
    assert {name: heard(service) for name, service in found.items()} == {
        one.name: expected(one) for one in stack.services
    }


@SOME
@given(plans())
def test_compose_finds_what_the_plan_means(made: Plan) -> None:
    stack = assemble(made)
    found = read(stack)
    assert {name: heard(service) for name, service in found.items()} == {
        one.name: expected(one) for one in stack.services
    }


FEW = settings(SOME, max_examples=4)
TEXTS = st.lists(TEXT | ODD, min_size=300, max_size=500, unique=True)


@FEW
@given(TEXTS)
def test_compose_reads_every_text_as_it_was_wherever_it_stands(drawn: list[str]) -> None:
    texts = list(dict.fromkeys([*drawn, *WORDS_OF_YAML.split(" ")]))
    service: Node = {
        "image": "any",
        "command": Arguments(("--texts", *texts)),
        "entrypoint": texts,
        "environment": {f"A{n}": text for n, text in enumerate(texts)},
        "labels": Flow({f"a{n}": text for n, text in enumerate(texts)}, always=True),
    }
    asked = config("\n".join(lines(escaped_keys({"name": "texts", "services": {"chat": service}}))), set())
    assert asked.returncode == 0, asked.stderr
    found = json.loads(asked.stdout, object_hook=_single)["services"]["chat"]
    assert (found["command"], found["entrypoint"]) == (["--texts", *texts], texts)
    assert found["environment"] == {f"A{n}": text for n, text in enumerate(texts)}
    assert found["labels"] == {f"a{n}": text for n, text in enumerate(texts)}


def test_a_secret_that_is_not_set_stops_compose_with_the_reason() -> None:
    text = render(assemble(plan(router={"api_key": "THE_KEY"}))).compose
    refused = config(text, set())
    assert refused.returncode != 0
    assert "THE_KEY" in refused.stderr
    assert "the key that clients must send" in refused.stderr
    assert config(text, {"THE_KEY"}).returncode == 0


def test_there_are_examples() -> None:
    assert {"cpu-demo", "one-8b-24gb", "trio-16gb"} <= set(EXAMPLES)


@pytest.mark.parametrize("example", EXAMPLES)
def test_compose_accepts_the_example_and_its_files(example: str) -> None:
    folder: Path = ROOT / "compose" / example
    command = ["docker", "compose", "-f", str(folder / "docker-compose.yaml"), "config", "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("example", sorted(file.stem for file in BEFORE.glob("*.json")))
def test_compose_reads_the_example_as_before_its_blocks_were_shared(
    example: str, golden: Callable[[Path, str], None]
) -> None:
    """Recorded from the files that said everything for every service. A change that is meant is taken by `--update`."""
    text = (ROOT / "compose" / example / "docker-compose.yaml").read_text(encoding="utf-8")
    asked = config(text, {"HF_TOKEN"}, "--project-directory", f"/srv/{example}")
    assert asked.returncode == 0, asked.stderr
    found = json.dumps(_bare(json.loads(asked.stdout)), indent=1, sort_keys=True, ensure_ascii=False)
    golden(BEFORE / f"{example}.json", f"{found}\n")


def _bare(found: Any) -> Any:
    """Without blocks that are merged, and without empty objects: a volume in the short notation has one."""
    if isinstance(found, dict):
        parts = {key: _bare(value) for key, value in found.items() if not key.startswith("x-")}
        return {key: value for key, value in parts.items() if value != {}}
    return [_bare(one) for one in found] if isinstance(found, list) else found
