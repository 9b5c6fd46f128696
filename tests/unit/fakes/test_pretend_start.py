"""A pretend worker starts, races, refuses and ends as vLLM does, in vLLM's words."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.pretend.argv import parse_args
from tests.fakes.pretend.errors import StartError
from tests.fakes.pretend.faults import parse_fault
from tests.fakes.pretend.launch import launch
from tests.fakes.pretend.ledger import GIB, MIB, Card, foreign
from tests.fakes.pretend.log import Log
from tests.fakes.pretend.settings import read_settings
from tests.fakes.pretend_gpu import CONTEXT, Rig, Worker, pinned, wait_for

Q05, Q15 = "Qwen/Qwen2.5-0.5B-Instruct", "Qwen/Qwen2.5-1.5B-Instruct"


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    rig = Rig(tmp_path)
    yield rig
    rig.stop()


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


def _race(rig: Rig, *flags: str) -> tuple[Worker, Worker]:
    """Two workers in step: both have loaded before the first measures, and it serves before the second one measures."""
    gates = [rig.gate(name, "load", "profile") for name in ("first", "second")]
    same = ("--max-model-len", "4096", *flags)
    first, second = (rig.start(*same, model=m, env=g.env) for m, g in zip((Q05, Q15), gates, strict=True))
    wait_for(lambda: all("Starting to load" in worker.text for worker in (first, second)))
    for gate in gates:
        gate.open("load")
    wait_for(lambda: all("residual" in rig.held_by(worker).parts for worker in (first, second)))
    gates[0].open("profile")
    first.ready()
    gates[1].open("profile")
    return first, second


def _kv_gib(worker: Worker) -> float:
    found = re.search(r"Available KV cache memory: (-?[\d.]+) GiB", worker.text)
    assert found
    return float(found[1])


def test_of_two_workers_sized_by_fraction_one_is_halved_and_one_dies(rig: Rig) -> None:
    share = ("--gpu-memory-utilization", "0.6")
    full = _kv_gib(rig.start("--max-model-len", "4096", *share, model=Q05).ready())
    rig.stop()
    first, second = _race(rig, *share)
    assert second.exit_code() == 1
    assert _kv_gib(first) == pytest.approx(full / 2, rel=0.1)
    assert _kv_gib(second) < 0
    assert "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilizat" in second.text
    failed = (
        "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {'EngineCore': 1}"
    )
    assert failed in second.text
    assert first.http.get("/health").status_code == 200


def test_pinned_bytes_do_not_race(rig: Rig) -> None:
    first, second = _race(rig, "--kv-cache-memory-bytes", str(GIB), "--gpu-memory-utilization", "0.2")
    second.ready()
    assert rig.held_by(first).parts["kv"] == 5461 * 16 * 12288
    assert rig.held_by(second).parts["kv"] == 2340 * 16 * 28672


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


def refusal(folder: Path, *words: str, **env: str) -> StartError:
    """How a start in this very process ends."""
    settings = {"PRETEND_LEDGER": str(folder / "card.json"), "PRETEND_SPEED": "0", "HOME": str(folder), **env}
    log = Log("Test", 1)
    with pytest.raises(StartError) as caught:
        launch(parse_args(words), read_settings(settings), parse_fault(env.get("PRETEND_FAULT", "")), log, log)
    return caught.value


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("oom-at-start", "CUDA out of memory. Tried to allocate"),
        ("crash-during-graphs", "CUDA out of memory. Tried to allocate"),
        ("gated", "Cannot access gated repo for url"),
        ("missing-model", "is not a valid model identifier listed on"),
        ("new-architecture", "Transformers does not recognize this architecture"),
        ("bad-driver", "CUDA driver version is insufficient for CUDA runtime version"),
        ("no-kernel-image", "no kernel image is available for execution on the device"),
        ("permission", "[Errno 13] Permission denied"),
        ("shm", "No space left on device"),
        ("profiling-race", "Error in memory profiling"),
    ],
)
def test_a_fault_at_the_start_speaks_vllms_words(tmp_path: Path, fault: str, said: str) -> None:
    assert said in refusal(tmp_path, Q05, "--gpu-memory-utilization", "0.2", PRETEND_FAULT=fault).text


def test_a_failed_start_prints_both_tracebacks_and_exits_with_1(rig: Rig) -> None:
    worker = rig.start("--gpu-memory-utilization", "0.2", env={"PRETEND_FAULT": "crash-during-graphs"})
    assert worker.exit_code() == 1
    assert re.search(
        r"\(EngineCore pid=\d+\) ERROR \d\d-\d\d .*\] torch.OutOfMemoryError: CUDA out of memory", worker.text
    )
    assert re.search(r"\(EngineCore pid=\d+\)   File .*cudagraph_utils.py., line \d+, in capture", worker.text)
    assert re.search(r"\(APIServer pid=\d+\) RuntimeError: Engine core initialization failed. See root", worker.text)


def test_a_worker_killed_for_host_memory_says_nothing(rig: Rig) -> None:
    worker = rig.start("--gpu-memory-utilization", "0.2", env={"PRETEND_FAULT": "exit137"})
    assert worker.exit_code() == -signal.SIGKILL
    assert "Traceback" not in worker.text


def test_a_fault_may_strike_the_first_start_only(rig: Rig) -> None:
    env = {"PRETEND_FAULT": "oom-at-start", "PRETEND_FAULT_ONCE": str(rig.folder / "struck")}
    assert rig.start(*pinned(64 * MIB), env=env).exit_code() == 1
    rig.start(*pinned(64 * MIB), env=env).ready()


@pytest.mark.parametrize(
    ("flags", "model", "env", "said"),
    [
        ((), "org/nobody-knows", {}, "We couldn't connect to 'https://huggingface.co' to load the files"),
        ((), Q05, {"PRETEND_LEDGER": ""}, "Failed to infer device type"),
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
    tmp_path: Path, flags: tuple[str, ...], model: str, env: dict[str, str], said: str
) -> None:
    error = refusal(tmp_path, model, *flags, **env)
    assert (said in error.text, error.side) == (True, "api")


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
