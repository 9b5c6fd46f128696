from __future__ import annotations

import pytest

from kit.assemble import assemble
from kit.manifest.fields import POLICIES
from kit.manifest.model import Manifest
from kit.routers import vllm_router
from kit.stack.model import (
    Port,
)
from tests.support.strategies import model, plan, share

ONE = share(model("chat", replicas=2))
TWO = share(model("chat", replicas=2), service="chat-2", replica=1)


def test_it_is_told_its_replicas_by_argument() -> None:
    stack = assemble(plan(ONE, TWO, router={"engine": "vllm-router", "policy": "cache_aware", "port": 8080}))
    router = stack.services[-1]
    assert router.command[-5:] == ("--policy", "cache_aware", "--worker-urls", "http://chat:8000", "http://chat-2:8000")
    assert router.ports == (Port("127.0.0.1", 8080, 30000),)
    assert router.depends_on == (("chat", "service_healthy"), ("chat-2", "service_healthy"))
    assert (router.image, [file.path for file in stack.files]) == ("monogpu/vllm-router:0.1.17", ["vllm/vllm_guard.py"])


def test_it_runs_without_root_on_a_file_system_it_cannot_write() -> None:
    router = vllm_router.service(plan(ONE, router={"engine": "vllm-router", "image": "mine:1"}), ("chat",))
    assert (router.user, router.read_only, router.image) == ("65532:65532", True, "mine:1")


@pytest.mark.parametrize("policy", POLICIES["vllm-router"])
def test_each_of_its_policies_is_handed_over(policy: str) -> None:
    words = {
        "name": "x",
        "router": {"engine": "vllm-router", "policy": policy},
        "models": [{"name": "a", "source": "b/c"}],
    }
    router = vllm_router.service(plan(ONE, router=Manifest.model_validate(words).router.model_dump()), ("chat",))
    assert router.command[router.command.index("--policy") + 1] == policy
