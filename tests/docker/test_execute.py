"""`up`, then `verify`: pretend engines behind the real router, driven from a file as the kit prints it."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable

import pytest

from kit.errors import TargetError
from kit.verify import Verification, run
from tests.docker.conftest import QUICK, Project

pytestmark = pytest.mark.docker

MODEL = "HuggingFaceTB/SmolLM2-135M-Instruct"
SIZES = ("--max-model-len", "2048", "--kv-cache-memory-bytes", "67108864")
HEALTHY = "import urllib.request as u; u.urlopen('http://127.0.0.1:8000/health')"
READY = "import urllib.request as u; u.urlopen('http://127.0.0.1:30000/readiness')"
ROUTER_FLAGS = (
    "--host 0.0.0.0 --port 30000 --prometheus-port 29000 --discovery-provider file "
    "--discovery-file /etc/smg/workers.json --discovery-check-interval-secs 1 --policy round_robin "
    "--no-remove-unhealthy-workers --health-check-interval-secs 2 --health-failure-threshold 2 "
    "--health-success-threshold 1 --worker-startup-check-interval 1 --shutdown-grace-period-secs 2 "
    "--history-backend none"
)
ADAPTER = json.dumps({"name": "code", "path": "/adapters/code", "base_model_name": "chat"})


def health(program: str) -> str:
    test = json.dumps(["CMD", "python3", "-c", program])
    return f"    healthcheck: {{test: {test}, interval: 1s, timeout: 5s, start_period: 60s}}"


def worker(name: str, task: str, names: str, flags: list[str], more: str = "") -> str:
    command = [MODEL, "--served-model-name", name, "--port", "8000", *SIZES, *flags]
    return f"""
  {name}:
    image: "monogpu/pretend:1"
    command: {json.dumps(command)}
    environment: {{PRETEND_DEVICE: cpu, PRETEND_SPEED: "0.05", PRETEND_FAULT: "${{FAULT:-}}"}}
    networks: {{workers: {{aliases: [code.{name}]}}}}
    volumes: ["./adapters:/adapters:ro"]
    init: true
    labels: {{monogpu.role: worker, monogpu.task: {task}, monogpu.names: "{names}"}}
{health(HEALTHY)}
{more}"""


def file(port: int) -> str:
    lora = ["--enable-lora", "--lora-modules", ADAPTER]
    return (
        worker("chat", "generate", "chat,code", lora)
        + worker("embed", "embed", "embed", ["--runner", "pooling", "--convert", "embed"], after("chat"))
        + worker("rank", "rerank", "rank", ["--runner", "pooling", "--convert", "classify"], after("chat"))
        + f"""
  router:
    image: "monogpu/smg:1.13.0"
    command: {json.dumps(ROUTER_FLAGS.split())}
    networks: [workers, edge]
    ports: ["127.0.0.1:{port}:30000"]
    volumes: ["./smg:/etc/smg:ro"]
    init: true
    labels: {{monogpu.role: router}}
{health(READY)}
{after("embed", "rank")}"""
    )


def after(*names: str) -> str:
    return f"    depends_on: {{{', '.join(f'{name}: {{condition: service_healthy}}' for name in names)}}}"


ROUTES = {"chat": "chat", "code.chat": "code", "embed": "embed", "rank": "rank"}


@pytest.fixture
def stack(project: Project) -> Project:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    routes = [{"id": host, "url": f"http://{host}:8000", "model_id": name} for host, name in ROUTES.items()]
    for path, text in {
        "smg/workers.json": json.dumps({"version": 1, "workers": routes}),
        "adapters/code/adapter_config.json": json.dumps({"r": 8, "base_model_name_or_path": MODEL}),
    }.items():
        (project.folder / path).parent.mkdir(parents=True)
        (project.folder / path).write_text(text)
    project.write(file(port), "networks: {workers: {internal: true}, edge: }")
    return project


def verified(project: Project, patience: float = 20) -> Verification:
    return run(project.folder, project.environ, client=project.client, clock=QUICK, patience=patience)


def failing(report: Verification) -> list[str]:
    return [str(problem) for problem in report.problems]


def test_a_stack_that_was_brought_up_keeps_its_promises_and_one_that_was_meddled_with_does_not(stack: Project) -> None:
    assert [service.name for service in stack.up().services] == ["chat", "embed", "rank", "router"]
    report = verified(stack)
    (unrouted,) = failing(report)  # SMG alone sends no rerank on: that is what the kit's own file has a front for
    assert unrouted.startswith("rank: ranks documents; HTTP 404")
    assert [f"{check.name} {check.what}" for check in report.checks] == [
        "/v1/models lists the declared names",
        "chat answers a token",
        "chat streams",
        "code answers a token",
        "code streams",
        "embed gives vectors",
        "rank ranks documents",
        "no-such-model-here is unknown",
        "no-such-model-here ranks nothing",
        "code differs from chat and its other adapters",
        "published ports are the router's alone",
        "127.0.0.1:8000 reaches no worker",
    ]
    stack.client.containers.get(f"{stack.name}-embed-1").kill()
    found = [one for one in failing(verified(stack, patience=2)) if not one.startswith("rank")]
    assert [one.startswith("embed: gives vectors; embed ended with 137") for one in found] == [True]


FAULTS: dict[str, Callable[[str], bool]] = {
    "gated": lambda said: "is gated" in said,
    "exit137": lambda said: "it was killed" in said,
    "new-architecture": lambda said: "does not know this kind of model" in said,
}


@pytest.mark.parametrize(("fault", "explained"), FAULTS.items(), ids=FAULTS)
def test_a_worker_that_fails_as_vllm_fails_is_explained(
    fault: str, explained: Callable[[str], bool], stack: Project
) -> None:
    stack.environ["FAULT"] = fault
    with pytest.raises(TargetError) as caught:
        stack.up()
    assert explained(str(caught.value)), caught.value.evidence
    assert list(stack.ids()) == ["chat"]
