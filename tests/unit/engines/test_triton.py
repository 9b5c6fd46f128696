from __future__ import annotations

from typing import Any

import pytest

from kit.assemble import assemble
from kit.errors import ManifestError
from kit.manifest.yaml_document import load
from kit.stack.model import (
    Probe,
    Service,
    Stack,
)
from tests.support.manifests import parse
from tests.support.strategies import HOST, model, plan, share

SHOUT = model("shout", "./models/shout", engine="triton", task="infer", memory=2**30)


def stack(*models: Any, **words: Any) -> Stack:
    return assemble(plan(*(share(each, facts=None) for each in models), **words))


def worker(made: Stack) -> Service:
    return next(one for one in made.services if one.name == "shout")


def test_the_server_loads_its_one_model_and_no_other() -> None:
    command = worker(stack(SHOUT)).command
    assert {"--model-control-mode=explicit", "--load-model=shout", "--model-repository=/models"} <= set(command)


def test_the_repository_is_a_printed_configuration_and_the_users_folder_as_version_1() -> None:
    made = stack(SHOUT)
    mounts = {mount.target: mount for mount in worker(made).mounts}
    assert mounts["/models/shout/config.pbtxt"].source == "./triton/shout/config.pbtxt"
    assert (mounts["/models/shout/1"].source, mounts["/models/shout/1"].read_only) == ("./models/shout", True)
    text = {file.path: file.text for file in made.files}["triton/shout/config.pbtxt"]
    assert 'name: "shout"\n' in text and "kind: KIND_GPU" in text


def test_on_the_cpu_its_instance_is_one_of_the_cpu() -> None:
    made = stack(SHOUT, gpu=HOST)
    assert "kind: KIND_CPU" in {file.path: file.text for file in made.files}["triton/shout/config.pbtxt"]
    assert worker(made).image == "monogpu/triton-cpu:2.51.0"


def test_another_configuration_makes_another_container() -> None:
    assert worker(stack(SHOUT)).labels != worker(stack(SHOUT, gpu=HOST)).labels


def test_the_router_has_no_name_for_it_and_haproxy_in_front_knows_its_path() -> None:
    made = stack(SHOUT)
    files = {file.path: file.text for file in made.files}
    assert "shout" not in files["smg/workers.json"]
    assert "use_backend shout if { path_beg /v2/models/shout/ }" in files["haproxy/haproxy.cfg"]
    assert not [line for line in files["haproxy/haproxy.cfg"].splitlines() if "acl" in line and "/repository" in line]
    assert [one.name for one in made.services if one.ports] == ["haproxy"]
    assert made.probes == (Probe("shout", "infer", "shout"),)


def test_the_endpoints_key_locks_its_path_too() -> None:
    files = {file.path: file.text for file in stack(SHOUT, router={"api_key": "THE_KEY"}).files}
    locked = [line for line in files["haproxy/haproxy.cfg"].splitlines() if "status 401" in line]
    assert len(locked) == 1 and "if tensors !{ http_auth_bearer" in locked[0]


def test_a_model_that_ranks_beside_it_keeps_its_own_paths() -> None:
    rank = share(model("rank", "./models/rank", task="rerank"))
    made = assemble(plan(rank, share(SHOUT, facts=None)))
    text = {file.path: file.text for file in made.files}["haproxy/haproxy.cfg"]
    assert "acl tensors path_beg /v2/models/shout/\n" in text and "acl pooled path /rerank" in text
    assert text.count("\nbackend ") == 3


REFUSED = {
    "memory: auto": ("source: ./m, task: infer", "models[0].memory: the memory of a model on triton cannot be planned"),
    "a repository": ("source: org/m, task: infer, memory: 1GiB", "models[0].source: Triton downloads nothing"),
    "another task": ("source: ./m, memory: 1GiB", "models[0].task: Triton's models take and give tensors"),
    "the kit's own argument": (
        "source: ./m, task: infer, memory: 1GiB, args: [--model-control-mode=poll]",
        "models[0].args[0]: --model-control-mode is the kit's",
    ),
    "nothing for the router": ("source: ./m, task: infer, memory: 1GiB", "every model has task: infer"),
}


@pytest.mark.parametrize("words, problem", REFUSED.values(), ids=REFUSED)
def test_what_it_cannot_do_is_refused_at_its_line(words: str, problem: str) -> None:
    with pytest.raises(ManifestError) as raised:
        parse(load(f"models:\n  - {{name: shout, engine: triton, {words}}}\n", "monogpu.yaml"))
    assert problem in str(raised.value)


def test_other_engines_take_no_tensors() -> None:
    with pytest.raises(ManifestError, match="vllm has no task infer"):
        parse(load("models:\n  - {name: a, source: org/a, task: infer}\n", "monogpu.yaml"))
