"""Logs as engines print them, and what the kit makes of them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.diagnostics import docker_errors, pattern
from kit.diagnostics.explain import PATTERNS, explain, explain_exit
from tests.fakes.pretend import errors as vllm

GIB = 1024**3
PREFIX = "\x1b[0;36m(EngineCore pid=77)\x1b[0;0m ERROR 11-29 21:44:43 [core.py:1021] "

# From public reports and recorded runs; the pretend engine's texts are vLLM 0.26's.
SAID = {
    "kv cache too small": (
        "ValueError: To serve at least one request with the model's max seq len (8192), (2.0 GiB KV cache is needed, "
        "which is larger than the available KV cache memory (0.45 GiB). Based on the available memory, the estimated "
        "maximum model length is 1856. Try increasing `gpu_memory_utilization` or decreasing `max_model_len`",
        "one request of 8192 tokens needs 2.0 GiB of KV cache, and there are 0.45 GiB",
        "`context: 1856` or less",
    ),
    "kv cache too small, older": (
        "ValueError: To serve at least one request with the models's max seq len (8192), (2.0 GiB KV cache is needed, "
        "which is larger than the available KV cache memory (-1.2 GiB). Try increasing `gpu_memory_utilization`",
        "one request of 8192 tokens needs 2.0 GiB of KV cache, and there are -1.2 GiB",
        "smaller `context`",
    ),
    "no cache blocks": (str(vllm.no_cache_blocks()), "nothing is left for the KV cache", "more `memory`"),
    "card fuller than planned": (
        str(vllm.free_below_desired(31 * GIB, 47 * GIB, 0.95, 45 * GIB)),
        "the card has 31.0 of 47.0 GiB free, and this worker needs 45.0 GiB",
        "`nvidia-smi` shows which",
    ),
    "card fuller than planned, older": (
        "ValueError: Free memory on device (6.56/63.63 GiB) on startup is less than desired GPU memory utilization "
        "(0.9, 57.27 GiB). Decrease GPU memory utilization or reduce GPU memory used by other processes.",
        "the card has 6.56 of 63.63 GiB free, and this worker needs 57.27 GiB",
        "`nvidia-smi` shows which",
    ),
    "host fuller than asked": (
        "ValueError: Available memory on node 0 (11.67/13.46 GiB) on startup is less than desired CPU memory "
        "utilization (0.92, 12.38 GiB).",
        "the host has 11.67 of 13.46 GiB of memory free",
        "`memory` for the model",
    ),
    "profiling race": (
        str(vllm.freed_while_profiling(82 * GIB, 90 * GIB)),
        "another process released memory",
        "--kv-cache-memory-bytes",
    ),
    "sampler": (
        "RuntimeError: CUDA out of memory occurred when warming up sampler with 1024 dummy requests. Please try "
        "lowering `max_num_seqs` or `gpu_memory_utilization` when initializing the engine.",
        "the buffers for 1024 requests at the same time do not fit",
        "smaller `requests`",
    ),
    "graphs": (
        '  File "/vllm/v1/worker/gpu/cudagraph_utils.py", line 512, in capture\n    graph.capture_end()\n'
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 64.00 MiB. GPU 0 has ...",
        "while CUDA graphs were captured",
        "`graphs: small`",
    ),
    "out of memory later": (
        "INFO [model_runner.py:1163] Graph capturing finished in 5 secs, took 0.42 GiB\n" + "INFO a request\n" * 40 +
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.74 GiB. GPU 0 has a total capacity of 23 GiB",
        "the card ran out of memory when 1.74 GiB more were asked for",
        "more `memory`",
    ),
    "no kernels": (str(vllm.no_kernel_image()), "no kernels for this card", "newer image"),
    "driver": (str(vllm.driver_too_old()), "the NVIDIA driver is too old", "update the driver"),
    "no card": (str(vllm.no_gpu()), "the container sees no card", "NVIDIA container toolkit"),
    "no bfloat16": (
        "ValueError: Bfloat16 is only supported on GPUs with compute capability of at least 8.0. Your Tesla T4 has 7.5",
        "that needs compute capability 8.0",
        "--dtype, half",
    ),
    "gated": (str(vllm.gated("meta-llama/Llama-3.2-1B")), "meta-llama/Llama-3.2-1B is gated", "HF_TOKEN"),
    "bad token": (
        "requests.exceptions.HTTPError: 401 Client Error: Unauthorized for url: https://huggingface.co/api/whoami-v2",
        "does not take the token",
        "HF_TOKEN",
    ),
    "no such model": (str(vllm.missing_model("Qwen/Qwen9")), "Hugging Face has no such model", "`source`"),
    "no such revision": ("huggingface_hub.errors.RevisionNotFoundError: 404 ...", "no such revision", "@"),
    "broken connection": (
        "urllib3.exceptions.NameResolutionError: Failed to resolve: Temporary failure in name resolution",
        "the connection to Hugging Face broke",
        "network",
    ),
    "files missing offline": (str(vllm.hub_unreachable("x/y")), "the model's files are not here", "download service"),
    "adapter's rank": (str(vllm.rank_too_high(64, 16)), "rank 64, and the worker was started for 16", "render again"),
    "adapter missing": (str(vllm.adapter_missing("code", "/a/code")), "no adapter at /a/code", "adapters"),
    "context above the model": (
        str(vllm.length_above_model(8192, 2048)),
        "`context` is 8192, and the model was made for 2048",
        "`context: 2048`",
    ),
    "unknown architecture": (str(vllm.unknown_architecture("gemma9")), "does not know this kind", "newer image"),
    "invented flag": (
        "api_server.py: error: unrecognized arguments: --max-lora-size 256",
        "no argument --max-lora-size 256",
        "`args`",
    ),
    "bad value of a flag": (
        "vllm serve: error: argument --kv-cache-memory-bytes: Invalid value 1.5G",
        "does not take an argument: --kv-cache-memory-bytes: Invalid value 1.5G",
        "`args`",
    ),
    "not a model's folder": (str(vllm.no_config("/models/chat")), "/models/chat holds no model", "`source`"),
    "too few batched tokens": (str(vllm.batch_below_seqs(16, 256)), "256 requests at the same time", "`requests`"),
    "a file is missing": (
        "OSError: /models/chat does not appear to have a file named tokenizer.json.",
        "the model's folder has no tokenizer.json",
        "`source`",
    ),
    "no chat template": (
        "ValueError: As of transformers v4.44, default chat template is no longer allowed, so you must provide one",
        "no chat template",
        "--chat-template",
    ),
    "libnuma": (
        "AttributeError: '_OpNamespace' '_C' object has no attribute 'init_cpu_memory_env'",
        "the image lacks libnuma1",
        "scripts/build-images",
    ),
    "shared memory": (str(vllm.shm_too_small()), "shared memory is full", "`shm_size`"),
    "disk": ("OSError: [Errno 28] No space left on device", "the disk is full", "docker system df"),
    "read-only": ("OSError: [Errno 30] Read-only file system: '/root/x'", "may not write /root/x", "volumes"),
    "permission": (str(vllm.permission_denied("/models/chat")), "may not use /models/chat", "chmod"),
    "two names, one address": (
        "WARN 'b' and 'a' name the same endpoint http://127.0.0.1:18003",
        "two entries of the router's list have the address http://127.0.0.1:18003",
        "render again",
    ),
    "port": (str(vllm.port_taken()), "taken inside the container", "one port"),
}  # fmt: skip


@pytest.mark.parametrize(("log", "cause", "fix"), SAID.values(), ids=SAID)
def test_a_known_log_is_explained(log: str, cause: str, fix: str) -> None:
    noisy = "INFO Starting to load model\n" + "".join(PREFIX + line + "\n" for line in log.splitlines()) + "Traceback\n"
    for text in (log, noisy):
        found = explain(text)
        assert found is not None
        assert cause in found.cause
        assert fix in found.fix


def test_the_line_that_explains_is_shown() -> None:
    found = explain("one\ntwo No space left on device three\nfour")
    assert found is not None
    assert found.line == "two No space left on device three"


def test_what_is_specific_wins_over_what_is_general() -> None:
    log = f"{vllm.permission_denied('/models')}\n{vllm.no_cache_blocks()}"
    found = explain(log)
    assert found is not None
    assert "KV cache" in found.cause


@pytest.mark.parametrize(
    "log",
    [
        "",
        "INFO:     Application startup complete.",
        "INFO Graph capturing finished in 5 secs, took 0.42 GiB",
        'INFO 127.0.0.1 - "POST /v1/chat/completions HTTP/1.1" 401 Unauthorized',
    ],
)
def test_an_unknown_log_stays_unknown(log: str) -> None:
    assert explain(log) is None


def test_only_failures_that_pass_by_themselves_are_retried() -> None:
    retried = [name for name, (log, _, _) in SAID.items() if (found := explain(log)) and found.retryable]
    assert retried == [
        "card fuller than planned",
        "card fuller than planned, older",
        "profiling race",
        "broken connection",
    ]


def test_exit_codes_are_explained_where_the_log_cannot() -> None:
    killed, by_host = explain_exit(137, False), explain_exit(137, True)
    assert killed is not None and "it was killed" in killed.cause
    assert by_host is not None and "the host ran out of memory" in by_host.cause
    assert explain_exit(1, False) is None
    assert explain_exit(0, False) is None


@given(st.text() | st.text(alphabet="CUDA out of memory\n([.0-9]) GiB"))
def test_any_text_is_read(log: str) -> None:
    assert explain(log) is None or isinstance(explain(log), pattern.Explanation)


def test_a_long_log_is_read_from_its_end_in_little_time() -> None:
    found = explain("cudagraph capture_model in capture\n" * 50_000 + str(vllm.no_cache_blocks()))
    assert found is not None


DOCKER = {
    'could not select device driver "nvidia" with capabilities: [[gpu]]': "no driver nvidia",
    "CDI device injection failed: unresolvable CDI devices nvidia.com/gpu=0": "no CDI device nvidia.com/gpu=0",
    "Bind for 127.0.0.1:30000 failed: port is already allocated": "port is taken",
    "failed to bind port 127.0.0.1:33000/tcp: listen tcp4: bind: address already in use": "port is taken",
    'Conflict. The container name "/x-chat-1" is already in use by container "abc".': "a container x-chat-1 exists",
    "pull access denied for nope, repository does not exist or may require 'docker login'": "private",
    "manifest for vllm/vllm-openai:v9 not found: manifest unknown: manifest unknown": "no such tag",
    'Get "https://registry-1.docker.io/v2/": dial tcp: lookup registry-1.docker.io: no such host': "cannot be reached",
    "toomanyrequests: You have reached your pull rate limit.": "limits the rate",
    "write /var/lib/docker/tmp/x: no space left on device": "the disk is full",
    "could not find an available, non-overlapping IPv4 address pool among the defaults": "no addresses left",
    "error while removing network: network x id 1 has active endpoints": "not this project's",
    'exec: "vllm": executable file not found in $PATH: unknown': "no program vllm",
    "no matching manifest for linux/arm64/v8 in the manifest list entries": "not made for linux/arm64/v8",
    "invalid mount config for type \"bind\": bind source path does not exist: /x/smg": "no /x/smg to mount",
}  # fmt: skip


@pytest.mark.parametrize(("said", "cause"), DOCKER.items())
def test_what_docker_refuses_is_explained(said: str, cause: str) -> None:
    found = docker_errors.explain(said)
    assert found is not None
    assert cause in found.cause


def test_every_name_in_a_sentence_is_a_group_of_its_pattern_or_made_of_them() -> None:
    for word in (*PATTERNS, *docker_errors.PATTERNS):
        groups = dict.fromkeys(re.compile(word.pattern).groupindex, "1")
        made = word.derived(groups) if word.derived else {}
        assert set(re.findall(r"\{(\w+)\}", word.cause + word.fix)) <= {*groups, *made}
