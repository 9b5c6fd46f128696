"""The pretend engine starts, races, refuses and dies as vLLM does (facts: recorded readings and vLLM's own texts)."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.pretend.argv import parse_args
from tests.pretend.config import resolve
from tests.pretend.footprint import footprint
from tests.pretend.ledger import GIB, MIB, Card, Holder, as_gpu_json, create, foreign, read
from tests.pretend.models import KNOWN, count_params, read_shape
from tests.pretend_gpu import CONTEXT, HERE, Rig, Worker, pinned, wait_for

Q05, Q15 = "Qwen/Qwen2.5-0.5B-Instruct", "Qwen/Qwen2.5-1.5B-Instruct"
S36 = "HuggingFaceTB/SmolLM2-360M-Instruct"
RECORDED = json.loads((HERE / "recorded" / "h200-footprints.json").read_text(encoding="utf-8"))
PLAIN = [
    one
    for one in RECORDED["readings"]
    if one["model"] in KNOWN and not {"kv_dtype", "lora_slots", "pooling"} & one.keys()
]


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    rig = Rig(tmp_path)
    yield rig
    rig.stop()


# --- the command line


def test_flags_are_read_as_vllm_reads_them() -> None:
    args = parse_args([Q05, "--max_model_len=32k", "--kv-cache-memory", "4G", "--max-num-batched-tokens", "1.5k"])
    assert (args.max_model_len, args.kv_cache_memory_bytes, args.max_num_batched_tokens) == (32000, 4 * GIB, 1500)
    args = parse_args(
        ["serve", Q05, "--max-model-len", "32K", "-cc.cudagraph_mode=NONE", "--served-model-name", "a", "b"]
    )
    assert (args.max_model_len, args.cudagraph_mode, args.served) == (32768, "NONE", ("a", "b"))
    args = parse_args(
        [Q05, "--compilation-config", '{"cudagraph_capture_sizes": [1, 2, 4]}', "--max-model-len", "auto"]
    )
    assert (args.capture_sizes, args.max_model_len) == ((1, 2, 4), -1)


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (
            ["--kv-cache-memory-bytes", "1.5G"],
            "Decimals are not allowed with binary suffixes like G. Did you mean to use 1.5g",
        ),
        (["--no-such-flag"], "vllm: error: unrecognized arguments: --no-such-flag"),
        (["--max-lora-rank", "24"], "argument --max-lora-rank: invalid choice: 24"),
        (["--kv-cache-dtype", "int3"], "argument --kv-cache-dtype: invalid choice: 'int3'"),
        (["--port", "http"], "argument --port: invalid int value: 'http'"),
        (["--lora-modules", "{broken"], "Invalid JSON format for --lora-modules: {broken"),
    ],
)
def test_a_wrong_flag_is_refused_in_argparses_words(
    flags: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        parse_args([Q05, *flags])
    assert stopped.value.code == 2
    assert said in capsys.readouterr().err


def test_a_wrong_flag_ends_the_process_with_2(rig: Rig) -> None:
    assert rig.start("--max-model-len", "1.5K").exit_code() == 2


# --- what a worker takes


def test_parameters_are_counted_exactly() -> None:
    counted = {name.split("/")[1]: count_params(config) for name, config in KNOWN.items()}
    assert counted["Qwen2.5-0.5B-Instruct"] == 494_032_768
    assert counted["Qwen2.5-1.5B-Instruct"] == 1_543_714_304
    assert counted["SmolLM2-135M-Instruct"] == 134_515_008
    assert counted["SmolLM2-360M-Instruct"] == 361_821_120
    assert counted["Llama-3.1-8B-Instruct"] == 8_030_261_248


@pytest.mark.parametrize("reading", PLAIN, ids=lambda reading: reading["id"])
def test_a_footprint_is_near_what_the_driver_said(reading: dict[str, object]) -> None:
    flags = ["--max-num-batched-tokens", reading["batched_tokens"], "--max-num-seqs", reading["requests"]]
    flags += ["--max-model-len", reading["context"], "--kv-cache-memory-bytes", reading["kv_bytes"]]
    args = parse_args([str(reading["model"]), *map(str, flags), *(["--enforce-eager"] if reading["eager"] else [])])
    shape = read_shape(args.model, None, "auto", "dummy", Path("/none"), None)
    bill = footprint(
        args, shape, resolve(args, shape, RECORDED["card"]["total_bytes"], cpu=False, long_len_allowed=False)
    )
    assert args.kv_cache_memory_bytes is not None
    blocks = args.kv_cache_memory_bytes // bill.block
    assert blocks * 16 == reading["kv_tokens"]
    total = (610 + 238) * MIB + bill.weights + bill.persist + bill.transient + bill.graphs + blocks * bill.block
    assert total == pytest.approx(float(str(reading["rest_mib"])) * MIB, rel=0.065)


def test_weights_are_the_tensors_in_the_safetensors_files(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({**KNOWN[Q05], "torch_dtype": "float32"}))
    header = json.dumps({"w": {"dtype": "F32", "shape": [250], "data_offsets": [0, 1000]}}).encode()
    (tmp_path / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + bytes(1000))
    shape = read_shape(str(tmp_path), None, "auto", "auto", tmp_path, None)
    assert shape.weights_bytes == 500  # float32 on disk, bfloat16 on the card


# --- the card


def test_the_card_reads_as_a_recorded_gpu_json(tmp_path: Path) -> None:
    path = tmp_path / "card.json"
    create(path, Card(total_bytes=10 * GIB))
    foreign(path, 4711, "Xorg", 300 * MIB)
    holder = Holder(path, "VLLM::EngineCore")
    holder.take("weights", GIB)
    said = as_gpu_json(read(path))
    assert said["free_bytes"] == 9 * GIB - 300 * MIB
    assert [(one["name"], one["bytes"]) for one in said["processes"]] == [
        ("Xorg", 300 * MIB),
        ("VLLM::EngineCore", GIB),
    ]
    foreign(path, 4711, "Xorg", 0)
    assert read(path).free_bytes == 9 * GIB


def test_a_killed_process_frees_its_memory(rig: Rig) -> None:
    rig.put(Card())
    words = [sys.executable, "-m", "tests.pretend.smi", "hold", str(rig.card_file), str(GIB), "game"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, cwd=HERE.parent) as process:
        assert process.stdout and process.stdout.readline() == b"held\n"
        assert [(one.pid, one.bytes) for one in rig.card().allocations.values()] == [(process.pid, GIB)]
        process.kill()
    assert rig.card().free_bytes == rig.card().total_bytes


def test_memory_comes_back_late_when_the_card_says_so(rig: Rig) -> None:
    rig.put(Card(free_delay=0.2))
    worker = rig.start(*pinned(64 * MIB)).ready()
    worker.process.kill()
    worker.process.wait()
    assert rig.card().free_bytes < rig.card().total_bytes
    wait_for(lambda: rig.card().free_bytes == rig.card().total_bytes)


# --- starts


def test_a_worker_takes_what_its_log_says(rig: Rig) -> None:
    worker = rig.start(*pinned(GIB), model=Q05).ready()
    held = rig.held_by(worker)
    assert held.name == "VLLM::EngineCore"
    assert "GPU KV cache size: 87,376 tokens" in worker.text
    assert "Maximum concurrency for 1,024 tokens per request: 85.33x" in worker.text
    assert held.parts["kv"] == 87376 * 12288
    assert "Model loading took 0.92 GiB and" in worker.text
    assert held.parts["weights"] / GIB == pytest.approx(0.92, abs=0.005)
    assert re.search(r"\(EngineCore pid=\d+\) INFO \d\d-\d\d \d\d:\d\d:\d\d \[core.py:\d+\] init engine", worker.text)
    assert re.search(r"Graph capturing finished in \d+ secs, took 0\.\d\d GiB", worker.text)


def _race(rig: Rig, *flags: str) -> list[Worker]:
    """Three workers in step: all have loaded before any measures; each is done before the next one measures."""
    gates = [rig.gate(name, "load", "profile") for name in ("first", "second", "third")]
    same = ("--max-model-len", "8192", *flags)
    workers = [rig.start(*same, model=m, env=g.env) for m, g in zip((Q05, Q15, S36), gates, strict=True)]
    wait_for(lambda: all("Starting to load" in worker.text for worker in workers))
    for gate in gates:
        gate.open("load")
    wait_for(lambda: all("residual" in rig.held_by(worker).parts for worker in workers))
    for gate, worker in zip(gates, workers, strict=True):
        gate.open("profile")
        wait_for(lambda worker=worker: worker.process.poll() is not None or worker.serving())
    return workers


def _kv_gib(worker: Worker) -> float:
    found = re.search(r"Available KV cache memory: (-?[\d.]+) GiB", worker.text)
    assert found
    return float(found[1])


def test_workers_sized_by_fraction_race_and_two_of_three_die(rig: Rig) -> None:
    """As on a real card: one survived with a part of its cache, the others had 0.09 and -1.43 GiB left."""
    share = ("--gpu-memory-utilization", "0.5")
    alone = rig.start("--max-model-len", "8192", *share, model=Q05)
    full = _kv_gib(alone.ready())
    rig.stop()
    rig.put(Card(free_delay=60))
    first, *others = _race(rig, *share)
    assert first.ready().http.get("/health").status_code == 200
    assert 0 < _kv_gib(first) < full / 2
    assert [worker.exit_code() for worker in others] == [1, 1]
    assert 0 < _kv_gib(others[0]) < 0.2
    assert "ValueError: To serve at least one request with the model's max seq len (8192)" in others[0].text
    assert _kv_gib(others[1]) < -0.5
    assert "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_util" in others[1].text
    failed = (
        "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {'EngineCore': 1}"
    )
    assert all(failed in worker.text for worker in others)


def test_pinned_bytes_do_not_race(rig: Rig) -> None:
    workers = _race(rig, "--kv-cache-memory-bytes", str(GIB), "--gpu-memory-utilization", "0.1")
    blocks = [16 * 12288, 16 * 28672, 16 * 40960]
    assert [rig.held_by(worker).parts["kv"] for worker in workers] == [GIB // block * block for block in blocks]


def test_a_neighbour_that_frees_memory_ends_the_profiling(rig: Rig) -> None:
    rig.put(Card())
    foreign(rig.card_file, 1, "game", 6 * GIB)
    gate = rig.gate("gate", "load")
    worker = rig.start("--gpu-memory-utilization", "0.3", env=gate.env)
    wait_for(lambda: "Starting to load" in worker.text)
    foreign(rig.card_file, 1, "game", 0)
    gate.open("load")
    assert worker.exit_code() == 1
    assert re.search(r"AssertionError: Error in memory profiling. Initial free memory 9\.\d+ GiB, current", worker.text)


def test_the_free_check_also_holds_for_pinned_bytes(rig: Rig) -> None:
    rig.start(*pinned(GIB)).ready()
    worker = rig.start(*pinned(GIB, share="0.92"))
    assert worker.exit_code() == 1
    assert re.search(
        r"ValueError: Free memory on device cuda:0 \(1\d\.\d+/15\.47 GiB\) on startup is less than desired GPU memory "
        r"utilization \(0\.92, 14\.23 GiB\)",
        worker.text,
    )


def test_a_cache_larger_than_the_card_is_out_of_memory(rig: Rig) -> None:
    worker = rig.start(*pinned(20 * GIB))
    assert worker.exit_code() == 1
    assert "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 GiB. GPU 0 has a total" in worker.text
    wait_for(lambda: rig.card().free_bytes == rig.card().total_bytes)


def test_a_cache_below_one_request_names_the_length_that_fits(rig: Rig) -> None:
    worker = rig.start(*pinned(16 * MIB))
    assert worker.exit_code() == 1
    assert f"To serve at least one request with the model's max seq len ({CONTEXT}), (0.02 GiB KV cache" in worker.text
    found = re.search(r"the estimated maximum model length is (\d+)\.", worker.text)
    assert found
    flags = ("--max-model-len", found[1], "--kv-cache-memory-bytes", str(16 * MIB), "--gpu-memory-utilization", "0.2")
    rig.start(*flags).ready()


def test_a_length_left_to_the_engine_is_what_fits(rig: Rig) -> None:
    flags = ("--max-model-len", "auto", "--kv-cache-memory-bytes", str(16 * MIB), "--gpu-memory-utilization", "0.2")
    worker = rig.start(*flags).ready()
    assert worker.http.get("/v1/models").json()["data"][0]["max_model_len"] == 720


# --- ends


def test_sigterm_ends_a_worker_with_0_and_frees_the_card(rig: Rig) -> None:
    worker = rig.start(*pinned(64 * MIB)).ready()
    worker.process.send_signal(signal.SIGTERM)
    assert worker.exit_code() == 0
    assert rig.card().free_bytes == rig.card().total_bytes


def test_sigterm_during_the_start_is_a_keyboard_interrupt(rig: Rig) -> None:
    worker = rig.start(*pinned(64 * MIB), env=rig.gate("gate", "load").env)
    wait_for(lambda: "Starting to load" in worker.text)
    worker.process.send_signal(signal.SIGTERM)
    assert worker.exit_code() == 130
    assert "KeyboardInterrupt: terminated" in worker.text


@pytest.mark.parametrize(
    ("fault", "code", "said"),
    [
        ("oom-at-start", 1, "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate"),
        ("crash-during-graphs", 1, "cudagraph_utils.py"),
        ("exit137", -signal.SIGKILL, "Starting to load model"),
        ("gated", 1, "Cannot access gated repo for url"),
        ("missing-model", 1, "is not a valid model identifier listed on"),
        ("new-architecture", 1, "Transformers does not recognize this architecture"),
        ("bad-driver", 1, "CUDA driver version is insufficient for CUDA runtime version"),
        ("no-kernel-image", 1, "no kernel image is available for execution on the device"),
        ("permission", 1, "PermissionError: [Errno 13] Permission denied"),
        ("shm", 1, "No space left on device"),
        ("profiling-race", 1, "AssertionError: Error in memory profiling"),
    ],
)
def test_a_fault_at_the_start_speaks_vllms_words(rig: Rig, fault: str, code: int, said: str) -> None:
    worker = rig.start("--gpu-memory-utilization", "0.2", env={"PRETEND_FAULT": fault})
    assert worker.exit_code() == code
    assert said in worker.text


def test_a_fault_may_strike_the_first_start_only(rig: Rig) -> None:
    env = {"PRETEND_FAULT": "oom-at-start", "PRETEND_FAULT_ONCE": str(rig.folder / "struck")}
    assert rig.start(*pinned(64 * MIB), env=env).exit_code() == 1
    rig.start(*pinned(64 * MIB), env=env).ready()


@pytest.mark.parametrize(
    ("flags", "model", "env", "said"),
    [
        ((), "org/nobody-knows", {}, "We couldn't connect to 'https://huggingface.co' to load the files"),
        ((), Q05, {"PRETEND_LEDGER": ""}, "RuntimeError: Failed to infer device type"),
        (("--max-model-len", "40000"), Q05, {}, "User-specified max_model_len (40000) is greater than the derived"),
        (("--gpu-memory-utilization", "1.5"), Q05, {}, "Input should be less than or equal to 1"),
        (
            ("--max-num-seqs", "64", "--max-num-batched-tokens", "32"),
            Q05,
            {},
            "must be greater than or equal to max_num_seqs",
        ),
    ],
)
def test_vllm_refuses_before_it_touches_the_card(
    rig: Rig, flags: tuple[str, ...], model: str, env: dict[str, str], said: str
) -> None:
    worker = rig.start(*flags, model=model, env=env)
    assert worker.exit_code() == 1
    assert said in worker.text


def test_a_taken_port_is_noticed_at_once(rig: Rig) -> None:
    first = rig.start(*pinned(64 * MIB)).ready()
    second = rig.start(*pinned(64 * MIB), "--port", str(first.http.base_url.port))
    assert second.exit_code() == 1
    assert "OSError: [Errno 98] Address already in use" in second.text


def test_the_cpu_backend_needs_no_card(rig: Rig) -> None:
    env = {"PRETEND_DEVICE": "cpu", "PRETEND_LEDGER": ""}
    worker = rig.start("--max-model-len", "2048", "--kv-cache-memory-bytes", "512M", env=env).ready()
    said = "CPU KV cache size: 23,296 tokens, Maximum concurrency for 2,048 tokens per request: 11.38x"
    assert said in worker.text  # as real vLLM 0.32 on the CPU said for this model and these flags
    assert "Graph capturing" not in worker.text
