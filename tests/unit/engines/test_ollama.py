from __future__ import annotations

from typing import Any

import pytest

from kit.assemble import assemble
from kit.engines import ollama
from kit.errors import ManifestError
from kit.manifest.yaml_document import load
from kit.memory.candidates import WorkerRequest
from kit.stack.labels import probes_of
from kit.stack.model import (
    Probe,
    Service,
    Stack,
)
from tests.support.manifests import parse
from tests.support.strategies import HOST, model, plan, share

CHAT = model("chat", "qwen2.5:0.5b", engine="ollama", context=8192, requests=4, memory=2**30)
VECTORS = model("vectors", "all-minilm", engine="ollama", task="embed", requests=4, memory=2**29)


def stack(*models: Any, **words: Any) -> Stack:
    return assemble(plan(*(share(each, facts=None) for each in models), **words))


def service(made: Stack, name: str) -> Service:
    return next(one for one in made.services if one.name == name)


def test_all_models_are_served_by_one_process_between_their_download_and_the_door() -> None:
    made = stack(CHAT, VECTORS)
    assert [one.name for one in made.services] == ["download-ollama", "ollama", "ollama-proxy", "router"]
    assert service(made, "ollama").depends_on == (("download-ollama", "service_completed_successfully"),)
    assert service(made, "router").depends_on == (("ollama", "service_healthy"), ("ollama-proxy", "service_healthy"))


def test_a_vllm_worker_beside_it_starts_in_its_turn() -> None:
    made = assemble(plan(share(model("small", "./models/small")), share(CHAT, facts=None)))
    assert [one.name for one in made.services] == ["download-ollama", "small", "ollama", "ollama-proxy", "router"]
    assert ("small", "service_healthy") in service(made, "ollama").depends_on


def test_the_download_alone_reaches_the_outside() -> None:
    made = stack(CHAT, VECTORS)
    places = {one.name: {at.network for at in one.networks} for one in made.services}
    assert (places["download-ollama"], places["ollama"], places["ollama-proxy"]) == (
        {"egress"},
        {"workers"},
        {"workers"},
    )
    assert service(made, "download-ollama").command == ("chat", "qwen2.5:0.5b", "vectors", "all-minilm")


def test_limits_come_from_the_manifest_and_models_stay_loaded() -> None:
    said = dict(service(stack(CHAT, VECTORS), "ollama").environment)
    assert (said["OLLAMA_NUM_PARALLEL"], said["OLLAMA_MAX_LOADED_MODELS"], said["OLLAMA_KEEP_ALIVE"]) == (
        "4",
        "2",
        "-1",
    )
    kept = model("chat", "qwen2.5:0.5b", engine="ollama", requests=4, memory=2**30, env={"OLLAMA_KEEP_ALIVE": "10m"})
    assert dict(service(stack(kept), "ollama").environment)["OLLAMA_KEEP_ALIVE"] == "10m"


def test_a_modelfile_gives_the_name_its_context() -> None:
    files = {file.path: file.text for file in stack(CHAT, VECTORS).files}
    assert files["ollama/chat.modelfile"].endswith("FROM qwen2.5:0.5b\nPARAMETER num_ctx 8192\n")
    assert files["ollama/vectors.modelfile"].endswith("FROM all-minilm\nPARAMETER num_ctx 4096\n")


def test_a_file_of_weights_is_mounted_for_the_download_and_not_pulled() -> None:
    own = model("own", "./weights/own.gguf", engine="ollama", requests=4, memory=2**30)
    made = stack(own)
    fetch = service(made, "download-ollama")
    assert fetch.command == ("own", "")
    assert ("./weights/own.gguf", "/models/own.gguf") in [(mount.source, mount.target) for mount in fetch.mounts]
    assert "FROM /models/own.gguf\n" in {file.path: file.text for file in made.files}["ollama/own.modelfile"]


def test_every_name_is_a_host_of_the_door_and_is_probed_by_its_own_task() -> None:
    made = stack(CHAT, VECTORS)
    (at,) = service(made, "ollama-proxy").networks
    assert at.aliases == ("chat.ollama", "vectors.ollama")
    listing = {file.path: file.text for file in made.files}["smg/workers.json"]
    assert '"http://chat.ollama:11434"' in listing and '"http://vectors.ollama:11434"' in listing
    probes = (Probe("chat", "generate", "ollama"), Probe("vectors", "embed", "ollama"))
    assert made.probes == probes
    assert probes_of("ollama", dict(service(made, "ollama").labels)) == probes


def test_its_label_promises_what_all_its_models_were_given() -> None:
    shares = (share(CHAT, facts=None), share(VECTORS, facts=None))
    labels = dict(service(assemble(plan(*shares)), "ollama").labels)
    assert labels["monogpu.bytes"] == str(sum(one.total_bytes for one in shares))


def test_on_the_cpu_it_is_given_no_card() -> None:
    assert service(stack(CHAT, gpu=HOST), "ollama").device is None
    assert service(stack(CHAT), "ollama").device is not None


REFUSED = {
    "memory: auto": ("", "models[0].memory: the memory of a model on ollama cannot be planned"),
    "another task": ("memory: 1GiB, task: rerank", "models[0].task: Ollama serves no model whose task is rerank"),
    "arguments": ("memory: 1GiB, args: [--port, '1']", "models[0].args: `ollama serve` takes no arguments"),
    "replicas": ("memory: 1GiB, replicas: 2", "models[0].replicas: ollama serves a model in one process"),
    "graphs": ("memory: 1GiB, graphs: full", "models[0].graphs: ollama chooses CUDA graphs itself"),
    "requests: auto": ("memory: 1GiB, requests: auto", "models[0].requests: ollama is not planned by the kit"),
}


@pytest.mark.parametrize("words, problem", REFUSED.values(), ids=REFUSED)
def test_what_it_cannot_do_is_refused_at_its_line(words: str, problem: str) -> None:
    text = f"models:\n  - {{name: chat, source: 'qwen2.5:0.5b', engine: ollama, {words}}}\n"
    with pytest.raises(ManifestError) as raised:
        parse(load(text, "monogpu.yaml"))
    assert problem in str(raised.value)


def test_models_that_disagree_about_what_they_share_are_refused() -> None:
    head = "models:\n  - {name: a, source: a, engine: ollama, memory: 1GiB, requests: 4}\n"
    with pytest.raises(ManifestError) as raised:
        parse(load(f"{head}  - {{name: b, source: b, engine: ollama, memory: 1GiB, requests: 8}}\n", "monogpu.yaml"))
    assert "models[1].requests: 'b' and 'a' are served by one Ollama, with one `requests`" in str(raised.value)


def test_without_requests_ollama_s_own_default_counts() -> None:
    """It takes KV cache for every request at its start: 32 would be 32 contexts."""
    plain = model("chat", "qwen2.5:0.5b", engine="ollama", context=8192, memory=2**30)
    assert dict(service(stack(plain), "ollama").environment)["OLLAMA_NUM_PARALLEL"] == "1"
    (candidate,) = ollama.price(WorkerRequest(plain, None, HOST))
    assert candidate.setting.requests == 1
    assert "8,192 tokens (8,192 of context x 1 requests at once)" in candidate.lines[0].why


def test_it_is_charged_context_times_requests() -> None:
    (candidate,) = ollama.price(WorkerRequest(CHAT, None, HOST))
    assert candidate.setting.requests == 4
    assert "32,768 tokens (8,192 of context x 4 requests at once)" in candidate.lines[0].why


def test_models_that_say_the_default_and_that_say_nothing_agree() -> None:
    head = "models:\n  - {name: a, source: a, engine: ollama, memory: 1GiB}\n"
    parse(load(f"{head}  - {{name: b, source: b, engine: ollama, memory: 1GiB, requests: 1}}\n", "monogpu.yaml"))
    with pytest.raises(ManifestError) as raised:
        parse(load(f"{head}  - {{name: b, source: b, engine: ollama, memory: 1GiB, requests: 2}}\n", "monogpu.yaml"))
    assert "with one `requests`" in str(raised.value)
