"""The pretend engine starts, races, refuses and dies as vLLM does (facts: recorded readings and vLLM's own texts)."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.pretend.argv import parse_args
from tests.fakes.pretend.config import resolve
from tests.fakes.pretend.footprint import footprint
from tests.fakes.pretend.ledger import GIB, MIB, Card, Holder, as_gpu_json, create, foreign, read
from tests.fakes.pretend.models import KNOWN, count_params, read_shape
from tests.fakes.pretend_gpu import Rig, pinned, wait_for
from tests.support.paths import RECORDED, ROOT

Q05, Q15 = "Qwen/Qwen2.5-0.5B-Instruct", "Qwen/Qwen2.5-1.5B-Instruct"
READINGS = json.loads((RECORDED / "h200-footprints.json").read_text(encoding="utf-8"))
PLAIN = [
    one
    for one in READINGS["readings"]
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
        args, shape, resolve(args, shape, READINGS["card"]["total_bytes"], cpu=False, long_len_allowed=False)
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
    words = [sys.executable, "-m", "tests.fakes.pretend.smi", "hold", str(rig.card_file), str(GIB), "game"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, cwd=ROOT) as process:
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
