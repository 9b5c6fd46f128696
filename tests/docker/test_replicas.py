"""Replicas of one model behind each router, with each of its policies; the workers are pretend ones."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest

from kit.compose import exec as inside
from kit.compose import up as compose
from kit.manifest.fields import POLICIES
from tests.support.walks import TINY, Walk, ended, model, soon, walk

if TYPE_CHECKING:
    from docker import DockerClient

pytestmark = pytest.mark.docker

WORKERS = ("chat", "chat-2")
IMAGES = {"smg": "monogpu/smg:1.13.0", "vllm-router": "monogpu/vllm-router:0.1.17"}
# Each start of another router takes its time: the policies that people choose between, and one that spreads by load.
TRIED = (
    ("smg", "round_robin"),
    ("smg", "power_of_two"),
    ("smg", "cache_aware"),
    ("vllm-router", "round_robin"),
    ("vllm-router", "power_of_two"),
)
LEFT_OUT = {"kv_aware"}  # rules.py says why
COUNT = (
    "import http.client as h; c = h.HTTPConnection('127.0.0.1', 8000); c.request('GET', '/metrics'); "
    "print(sum(float(line.split()[-1]) for line in c.getresponse().read().decode().splitlines() "
    "if line.startswith('vllm:request_success_total')))"
)


@pytest.fixture(scope="module")
def client() -> Iterator[DockerClient]:
    found = compose.connect(os.environ)
    for image in IMAGES.values():
        found.images.get(image)
    yield found
    found.close()


@pytest.fixture(scope="module")
def running(client: DockerClient, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str, str], Walk]]:
    """Brings the stack up behind another router or policy; the workers stay as they are."""
    with walk(tmp_path_factory.mktemp("replicas"), client) as made:

        def behind(router: str, policy: str) -> Walk:
            made.write(model("chat", TINY, "replicas: 2"), more="start: parallel\n")
            text = (made.folder / "monogpu.yaml").read_text()
            words = f"image: {IMAGES[router]}, engine: {router}, policy: {policy}"
            (made.folder / "monogpu.yaml").write_text(text.replace(f"image: {IMAGES['smg']}", words))
            made.up().good()
            return made

        yield behind


def counts(at: Walk) -> list[float]:
    """How many requests each worker has answered."""
    return [float(inside.run(at.client, inside.container_of(at.client, at.name, name), COUNT)) for name in WORKERS]


def ask(at: Walk, number: int) -> int:
    """The status; 0 when nobody answered in time."""
    body = {"model": "chat", "messages": [{"role": "user", "content": f"Question {number}"}], "max_tokens": 4}
    try:
        url = f"http://127.0.0.1:{at.port}/v1/chat/completions"
        return httpx.post(url, json=body, timeout=20, trust_env=False).status_code
    except httpx.HTTPError:
        return 0


@pytest.mark.parametrize("router", IMAGES)
def test_the_manifests_policies_are_those_of_the_program(client: DockerClient, router: str) -> None:
    said = client.containers.run(IMAGES[router], ["--help"], remove=True, network_mode="none").decode()
    found = re.search(r"--policy \{([a-z_,\s]+)\}", said)
    assert found
    assert set(re.split(r"[,\s]+", found.group(1))) - LEFT_OUT == set(POLICIES[router])


@pytest.mark.parametrize(("router", "policy"), TRIED)
def test_requests_are_spread_as_the_policy_says(running: Callable[[str, str], Walk], router: str, policy: str) -> None:
    at = running(router, policy)
    before = counts(at)
    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(lambda number: ask(at, number), range(24))) == {200}
    asked = [after - earlier for after, earlier in zip(counts(at), before, strict=True)]
    assert sum(asked) == 24
    if policy == "round_robin":
        assert asked == [12, 12]
    if policy == "power_of_two":
        assert min(asked) > 0


@pytest.mark.parametrize("router", IMAGES)
def test_a_replica_that_dies_costs_no_answer_for_long(running: Callable[[str, str], Walk], router: str) -> None:
    at = running(router, "round_robin")
    other = at.containers()["chat-2"].id
    at.client.api.kill(other)
    try:
        soon(lambda: all(ask(at, number) == 200 for number in range(4)))
    finally:
        at.client.api.start(other)
    soon(lambda: at.containers()["chat-2"].health == "healthy")


def test_a_router_that_lost_its_only_worker_is_waited_for_when_that_is_replaced(
    client: DockerClient, tmp_path: Path
) -> None:
    with walk(tmp_path, client, steady=1.0) as at:
        at.write(model("chat", TINY))
        at.up().good()
        at.write(model("chat", TINY, "args: [--seed, '7']"))
        at.hold("load")
        up = at.begin("up", "--gpu", "gpu.json")
        soon(lambda: at.containers()["router"].health == "unhealthy")
        at.release("load")
        assert ended(up).good()


def test_vllm_router_lists_the_name_and_refuses_another(running: Callable[[str, str], Walk]) -> None:
    at = running("vllm-router", "round_robin")
    report = at.kit("verify", "--json").good().json
    assert {(check["name"], check["what"]): check["ok"] for check in report["checks"]}[
        ("no-such-model-here", "is unknown")
    ]
