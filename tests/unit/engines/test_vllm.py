from __future__ import annotations

import json
from dataclasses import replace

import pytest
import yaml

from kit.assemble import assemble
from kit.engines import vllm
from kit.manifest.model import Adapter
from kit.memory.bill import Share
from kit.stack.model import Mount, Probe, Route, Secret
from kit.stack.render import render
from tests.support.strategies import HOST, facts, model, plan, share

ADAPTERS = (Adapter(name="code", source="./adapters/code"), Adapter(name="law", source="org/law@v1"))


def command(one: Share, **fields: object) -> str:
    return " ".join(str(item) for item in vllm.service(one, plan(one, **fields)).command)  # type: ignore[arg-type]


def test_a_worker_is_pinned_to_the_byte_and_gated_by_its_footprint() -> None:
    assert command(share()) == (
        "Qwen/Qwen2.5-1.5B-Instruct --served-model-name chat --host 0.0.0.0 --port 8000 --max-model-len 8192 "
        "--max-num-seqs 32 --max-num-batched-tokens 2048 --kv-cache-memory-bytes 1073741824 "
        "--gpu-memory-utilization 0.25 --middleware vllm_guard.Guard "
        "--disable-access-log-for-endpoints /health,/metrics"
    )


def test_on_the_cpu_there_is_no_gate_and_no_graph() -> None:
    one = share(model("embed", "./models/embed", task="embed"), utilization=None)
    assert command(one, gpu=HOST) == (
        "/models/embed --served-model-name embed --host 0.0.0.0 --port 8000 --runner pooling --convert embed "
        "--max-model-len 8192 --max-num-seqs 32 --max-num-batched-tokens 2048 --kv-cache-memory-bytes 1073741824 "
        "--enforce-eager --disable-access-log-for-endpoints /health,/metrics"
    )
    service = vllm.service(one, plan(one, gpu=HOST))
    assert service.image == "monogpu/vllm-cpu:0.32.0"
    assert "flashinfer" not in [mount.source for mount in service.mounts]


@pytest.mark.parametrize(
    ("graphs", "sizes", "flags"),
    [
        ("off", (), "--enforce-eager"),
        ("small", (1, 2, 4), "--cudagraph-capture-sizes 1 2 4 "),
        ("full", (), ""),
        ("full", (1, 8), "--cudagraph-capture-sizes 1 8 "),
    ],
)
def test_graphs_are_off_or_captured_for_the_planned_sizes(graphs: str, sizes: tuple[int, ...], flags: str) -> None:
    said = command(share(graphs=graphs, capture_sizes=sizes))
    assert flags in said
    assert ("--enforce-eager" in said, "--cudagraph" in said) == (graphs == "off", bool(sizes))


@pytest.mark.parametrize(
    ("task", "flags"),
    [
        ("generate", ""),
        ("embed", "--runner pooling --convert embed"),
        ("rerank", "--runner pooling --convert embed"),
        ("classify", "--runner pooling --convert classify"),
    ],
)
def test_a_task_chooses_the_runner(task: str, flags: str) -> None:
    said = command(share(model(task=task)))
    assert flags in said
    assert ("--runner" in said) == (task != "generate")


def test_a_reranker_with_a_head_ranks_with_it() -> None:
    headed = replace(facts(), architecture="XLMRobertaForSequenceClassification")
    assert "--convert classify" in command(share(model(task="rerank"), facts=headed))
    assert "--convert classify" in command(share(model(task="rerank", args=("--hf-overrides", "{}"))))


def test_what_the_user_adds_comes_last_and_unchanged() -> None:
    one = share(model(args=("--seed", "$1"), env={"A": "b c", "VLLM_LOGGING_LEVEL": "DEBUG"}))
    service = vllm.service(one, plan(one))
    assert service.command[-2:] == ("--seed", "$1")
    assert dict(service.environment) | {"A": "b c", "VLLM_LOGGING_LEVEL": "DEBUG"} == dict(service.environment)


def test_a_value_from_the_environment_becomes_a_secret() -> None:
    one = share(model(env={"A": "${MINE}"}))
    value = dict(vllm.service(one, plan(one)).environment)["A"]
    assert isinstance(value, Secret)
    assert (value.name, value.required) == ("MINE", True)


def test_a_folder_is_mounted_read_only_where_the_worker_reads_it() -> None:
    one = share(model("chat", "./models/a b", volumes=("./data:/data:ro", "kept:/kept")))
    service = vllm.service(one, plan(one))
    assert service.command[0] == "/models/chat"
    assert Mount("bind", "./models/a b", "/models/chat", read_only=True) in service.mounts
    assert service.mounts[-2:] == (Mount("bind", "./data", "/data", read_only=True), Mount("volume", "kept", "/kept"))
    assert vllm.downloads(one, plan(one)) == ()


@pytest.mark.parametrize(
    ("source", "read_from", "revision"),
    [
        ("org/model@v1", None, "v1"),
        ("org/model", "abc", "abc"),
        ("org/model@v1", "abc", "v1"),
        ("org/model", None, None),
    ],
)
def test_the_revision_is_the_manifests_or_the_one_the_facts_were_read_from(
    source: str, read_from: str | None, revision: str | None
) -> None:
    one = share(model(source=source), facts=facts(source, read_from))
    words = list(vllm.service(one, plan(one)).command)
    assert words[: words.index("--served-model-name")] == (
        ["org/model", "--revision", revision] if revision else ["org/model"]
    )
    (download,) = vllm.downloads(one, plan(one))
    assert download.command[2:4] == ("org/model", revision or "")


def test_a_download_runs_in_the_workers_image_with_an_optional_token() -> None:
    one = share(model(image="mine:1", env={"HF_ENDPOINT": "https://mirror", "OTHER": "x"}))
    (download,) = vllm.downloads(one, plan(one))
    assert (download.image, download.entrypoint) == ("mine:1", ("python3",))
    environment = dict(download.environment)
    assert environment["HF_TOKEN"] == Secret("HF_TOKEN", "a token that may read gated repositories", required=False)
    assert (environment["HF_ENDPOINT"], "OTHER" in environment) == ("https://mirror", False)
    assert "HF_HUB_OFFLINE" not in environment


def test_what_a_download_runs_is_python() -> None:
    one = share()
    (download,) = vllm.downloads(one, plan(one))
    flag, script, *_ = download.command
    assert flag == "-c"
    compile(str(script), "download", "exec")


def test_adapters_get_a_slot_each_and_the_smallest_rank_that_holds_them() -> None:
    one = share(model(adapters=ADAPTERS), lora_rank=20)
    words = list(vllm.service(one, plan(one)).command)
    at = words.index("--enable-lora")
    assert words[at : at + 6] == ["--enable-lora", "--max-loras", "2", "--max-lora-rank", "32", "--lora-modules"]
    assert [json.loads(str(word)) for word in words[at + 6 : at + 8]] == [
        {"name": "code", "path": "/adapters/code", "base_model_name": "chat"},
        {"name": "law", "path": "/cache/huggingface/adapters/org/law@v1", "base_model_name": "chat"},
    ]


def test_a_downloaded_adapter_lies_where_the_worker_looks_for_it() -> None:
    one = share(model(source="./m", adapters=ADAPTERS), lora_rank=8)
    (download,) = vllm.downloads(one, plan(one))
    assert download.command[2:5] == ("org/law", "v1", "/cache/huggingface/adapters/org/law@v1")


def test_an_adapter_is_a_host_name_of_its_own_on_the_same_worker() -> None:
    one = share(model(adapters=ADAPTERS), service="chat-2", replica=2)
    (place,) = vllm.service(one, plan(one)).networks
    assert (place.network, place.aliases) == ("workers", ("code.chat-2", "law.chat-2"))
    assert vllm.routes(one) == (
        Route("chat-2", "chat-2", 8000, "chat"),
        Route("chat-2", "code.chat-2", 8000, "code"),
        Route("chat-2", "law.chat-2", 8000, "law"),
    )
    assert vllm.probes(one, plan(one))[1] == Probe("code", "generate", "chat-2", base="chat")


def test_the_start_period_is_the_plans() -> None:
    health = vllm.service(share(start_seconds=777), plan()).health
    assert health is not None
    assert (health.start_period, health.command[:2]) == (777, ("python3", "-c"))
    compile(health.command[2], "health", "exec")


def test_on_the_cpu_a_worker_is_nobody_on_a_file_system_that_it_cannot_write() -> None:
    one = share(model("embed", "./m"), utilization=None)
    service = vllm.service(one, plan(one, gpu=HOST))
    environment = dict(service.environment)
    assert (service.user, service.read_only) == ("65532:65532", True)
    assert (environment["HOME"], environment["USER"], environment["VLLM_CACHE_ROOT"]) == ("/tmp", "vllm", "/tmp/vllm")
    assert [mount.target for mount in service.mounts if not mount.read_only] == ["/tmp"]


def test_on_a_card_a_worker_may_write_its_own_container_and_has_no_capability() -> None:
    service = vllm.service(share(), plan())
    assert (service.user, service.read_only) == (None, False)
    made = yaml.safe_load(render(assemble(plan(share()))).compose)["services"]["chat"]
    assert ("user" in made, "read_only" in made, made["cap_drop"]) == (False, False, ["ALL"])


def test_a_download_can_write_the_cache_alone() -> None:
    one = share()
    (download,) = vllm.downloads(one, plan(one))
    assert download.read_only
    assert [mount.target for mount in download.mounts] == ["/cache/huggingface", "/tmp"]
