"""The whole of `bench`: vLLM's own load generator, the real router, and pretend engines whose many starts take seconds.
Shapes are checked, not speed; test_commands.py measures real engines.

One stack and one folder of results, in the order in which somebody would do it: measured while it serves, stopped,
interrupted in the middle of what is left, finished, and asked once more.
"""

from __future__ import annotations

import gzip
import json
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from kit.bench.experiments import EXPERIMENTS
from kit.bench.journal import (
    Record,
    RunDone,
    read,
    runs,
)
from kit.bench.load_containers import LOADS
from kit.bench.results import Arm, Bench, Experiment, Run, from_text
from kit.bench.vllm_results import figures, parse
from tests.fakes.cardengine import card_engine
from tests.fakes.pretend_gpu import wait_for
from tests.support.realwalk import SECONDS, project
from tests.support.walks import Said, Walk, interrupt

pytestmark = pytest.mark.real

GIVEN = ("router", "sweep", "contention", "prefix")  # what is measured on the stack as it is
QUICK = (
    "--profile", "quick", "--seconds", "1", "--rounds", "1", "--concurrency", "2",
    "--policies", "round_robin,cache_aware",
)  # fmt: skip
MANIFEST = """\
name: {name}
gpu: {{device: none, memory: 8GiB}}
router: {{image: "monogpu/smg:1.13.0", port: {port}}}
models:
  - name: chat
    source: ./models/SmolLM2-135M-Instruct
    image: monogpu/vllm-pretend:0.32.0
    env: {{PRETEND_DEVICE: cpu, PRETEND_SPEED: "0.05", PRETEND_TOKENS: words}}
    context: 96
    requests: 8
  - name: embed
    source: ./models/SmolLM2-135M-Instruct
    image: monogpu/vllm-pretend:0.32.0
    env: {{PRETEND_DEVICE: cpu, PRETEND_SPEED: "0.05", PRETEND_TOKENS: words}}
    task: embed
    context: 96
    requests: 8
"""


@dataclass(frozen=True)
class Left:
    """What a `bench` said, and what it left."""

    said: Said
    records: tuple[Record, ...]
    bench: Bench
    containers: dict[str, str]

    @property
    def ran(self) -> dict[str, RunDone]:
        return runs(self.records)

    def experiment(self, name: str) -> Experiment:
        return next(one for one in self.bench.experiments if one.name == name)


def results(stack: Walk) -> Path:
    return stack.folder / "bench"


def records(stack: Walk) -> tuple[Record, ...]:
    file = results(stack) / "records.jsonl"
    return read(file.read_text(), str(file)) if file.exists() else ()


def left(stack: Walk, said: Said) -> Left:
    """Wherever it ended, it is written down, and no container that made load is there."""
    loads = stack.client.api.containers(all=True, filters={"label": f"{LOADS}={stack.name}"})
    assert loads == [], said.err
    bench = from_text((results(stack) / "bench.json").read_text(), "bench.json")
    return Left(said, records(stack), bench, stack.ids())


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Walk]:
    folder = tmp_path_factory.mktemp("bench")
    # A socket's path is short: the folder of a test may be too deep.
    with project(folder, "cpu-demo") as made, card_engine(Path("/tmp") / f"{made.name}.sock") as made.host:
        (folder / "monogpu.yaml").write_text(MANIFEST.format(name=made.name, port=made.port))
        yield made


@pytest.fixture(scope="module")
def serving(stack: Walk) -> dict[str, str]:
    """The stack runs: its containers."""
    stack.kit("up").good()
    return stack.ids()


@pytest.fixture(scope="module")
def beside(stack: Walk, serving: dict[str, str]) -> Left:
    """Everything, while the stack serves."""
    return left(stack, stack.kit("bench", "all", *QUICK).good())


@pytest.fixture(scope="module")
def once_more(stack: Walk, beside: Left) -> Left:
    """The same where nothing is left to do, while the stack serves."""
    return left(stack, stack.kit("bench", "router", *QUICK).good())


@pytest.fixture(scope="module")
def interrupted(stack: Walk, once_more: Left) -> Left:
    """Everything else, on a stack that does not run, until somebody types Ctrl-C while another stack starts."""
    stack.kit("down").good()
    process = stack.begin("bench", "all", *QUICK)
    wait_for(lambda: "memory-share.whole.1" in runs(records(stack)) or process.poll() is not None, SECONDS)
    wait_for(lambda: stack.containers() or process.poll() is not None, SECONDS)
    return left(stack, interrupt(process))


@pytest.fixture(scope="module")
def finished(stack: Walk, interrupted: Left) -> Left:
    return left(stack, stack.kit("bench", "all", *QUICK).good())


# ---- while the stack serves


def test_a_stack_that_runs_is_measured_as_it_is_and_runs_on(serving: dict[str, str], beside: Left) -> None:
    assert beside.containers == serving
    for name in GIVEN:
        assert whole(beside.experiment(name)), name
    assert {key.split(".")[0] for key in beside.ran} == {*GIVEN}


def test_what_would_stop_it_is_left_out_and_said(beside: Left) -> None:
    for name in ("memory-share", "policy", "startup"):
        found = beside.experiment(name)
        assert found.comparisons == () and "--allow-restart allows that" in found.remarks[-1]
    assert "left out: it stops the running stack" in beside.said.err


def test_the_time_is_told_beforehand_and_every_run_is_a_line(beside: Left) -> None:
    assert "estimated " in beside.said.err and beside.bench.estimated_seconds and beside.bench.actual_seconds
    count = len(beside.ran)
    for number in (1, count):
        assert f"[{number}/{count}] " in beside.said.err
    assert "How much does each model serve" in beside.said.out


def test_with_nothing_left_the_stack_is_not_touched(serving: dict[str, str], beside: Left, once_more: Left) -> None:
    assert once_more.containers == serving and once_more.records == beside.records
    assert once_more.bench.experiments == beside.bench.experiments


def test_other_options_are_refused_and_nothing_is_lost(stack: Walk, beside: Left, once_more: Left) -> None:
    said = stack.kit("bench", "router", *QUICK, "--seconds", "3").refused(2)
    assert "bench holds results of another manifest, profile or card (router." in said
    assert "needed: another folder with -o, or --fresh" in said
    assert records(stack) == beside.records


# ---- Ctrl-C


def test_ctrl_c_keeps_what_is_done_and_leaves_nothing_behind(stack: Walk, beside: Left, interrupted: Left) -> None:
    assert interrupted.said.code == 130, interrupted.said.err
    assert "Traceback" not in interrupted.said.err and "run the same command to resume" in interrupted.said.err
    assert interrupted.containers == {}
    assert interrupted.records[: len(beside.records)] == beside.records
    assert interrupted.ran.keys() == beside.ran.keys() | {"memory-share.whole.1"}
    assert [arm.name for arm in interrupted.experiment("memory-share").comparisons[0].arms] == ["the whole card"]
    assert interrupted.experiment("router") == beside.experiment("router")


def test_the_same_command_goes_on_behind_it(interrupted: Left, finished: Left) -> None:
    assert finished.records[: len(interrupted.records)] == interrupted.records
    more = finished.ran.keys() - interrupted.ran.keys()
    assert {key.split(".")[0] for key in more} == {"memory-share", "policy", "startup"}
    assert finished.containers == {}


# ---- what was found


def whole(found: Experiment) -> list[Run]:
    """Its runs; every arm of every comparison has one, that shows something."""
    for comparison in found.comparisons:
        assert comparison.unit and (comparison.kind == "curve" or len(comparison.arms) > 1)
        for arm in comparison.arms:
            shows(arm)
    return [run for comparison in found.comparisons for arm in comparison.arms for run in arm.runs]


def shows(arm: Arm) -> None:
    assert len(arm.runs) == 1 and arm.median == arm.least == arm.most == arm.runs[0].value > 0


def test_every_experiment_has_runs_or_says_why_not(finished: Left) -> None:
    assert {one.name for one in finished.bench.experiments} == {*EXPERIMENTS}
    for one in finished.bench.experiments:
        assert whole(one) or one.remarks
    assert [one.name for one in finished.bench.experiments if not one.comparisons] == ["mps"]
    assert finished.experiment("mps").remarks == ("MPS shares a card, and this stack has none",)


def test_no_request_failed(finished: Left) -> None:
    failed = {
        f"{key} {name}": (found.failed, found.completed)
        for key, ran in finished.ran.items()
        for name, found in ran.models.items()
        if found.failed or not found.completed
    }
    assert failed == {}
    assert not [remark for one in finished.bench.experiments for remark in one.remarks if "failed" in remark]


def test_models_that_make_text_have_latencies_and_vectors_have_none_of_tokens(finished: Left) -> None:
    for ran in finished.ran.values():
        for name, found in ran.models.items():
            assert found.e2el and (found.ttft is None) == (name == "embed") == (found.tpot is None)
            assert 0 < found.e2el.p50 <= found.e2el.p90 <= found.e2el.p99


def test_what_each_service_used_of_the_cores_is_known(finished: Left) -> None:
    for key, ran in finished.ran.items():
        if ran.models:
            assert ran.cpu["router"] >= 0 and sum(ran.cpu.values()) > 0, key
    told = [one for one in finished.experiment("router").remarks if "at once: for each token the router used" in one]
    assert len(told) == 2


def test_policies_are_compared_on_three_working_sets(finished: Left) -> None:
    policy = finished.experiment("policy")
    assert [one.name for one in policy.comparisons] == [f"{n} working set" for n in ("small", "medium", "large")]
    for comparison in policy.comparisons:
        assert [arm.name for arm in comparison.arms] == ["round_robin", "cache_aware"]


def test_a_start_has_a_timeline(finished: Left) -> None:
    (comparison,) = finished.experiment("startup").comparisons
    for arm in comparison.arms:
        (run,) = arm.runs
        ends = {phase.service: phase for phase in run.phases}
        assert {"chat", "embed", "router", "verify"} <= ends.keys()
        assert all(0 <= phase.begin <= phase.end <= run.value + 0.01 for phase in run.phases)
        assert ends["verify"].begin >= max(ends[name].end for name in ("chat", "embed", "router")) - 0.5
    sequential, parallel = ({p.service: p for p in arm.runs[0].phases} for arm in comparison.arms)
    assert sequential["embed"].begin >= sequential["chat"].end > parallel["embed"].begin


# ---- what is kept


def test_vllm_s_json_and_command_of_every_process_is_kept(stack: Walk, finished: Left) -> None:
    for key, ran in finished.ran.items():
        assert len(ran.raw) == len(ran.commands) == sum(1 for _ in ran.models), key
        for name, command in zip(ran.raw, ran.commands, strict=True):
            told, sums = shlex.split(command), json.loads((results(stack) / name).read_text())
            assert told[:3] == ["vllm", "bench", "serve"] and "--save-detailed" in told
            assert told[told.index("--model") + 1] == sums["model_id"]
            assert int(told[told.index("--num-prompts") + 1]) >= sums["completed"] > 0


def test_the_figures_are_those_of_the_json_that_is_kept(stack: Walk, finished: Left) -> None:
    for ran in finished.ran.values():
        answers = [parse(json.dumps(whole_json(results(stack), name))) for name in ran.raw]
        assert [figures([one]) for one in answers] == list(ran.models.values())


def whole_json(folder: Path, name: str) -> dict[str, Any]:
    """The two halves of what vLLM left."""
    lists = gzip.decompress((folder / "detail" / f"{Path(name).name}.gz").read_bytes())
    return json.loads((folder / name).read_text()) | json.loads(lists)  # type: ignore[no-any-return]


def test_no_two_runs_had_the_same_prompts(finished: Left) -> None:
    told = [shlex.split(command) for ran in finished.ran.values() for command in ran.commands]
    seeds = [words[words.index("--seed") + 1] for words in told]
    assert len(set(seeds)) == len(seeds)


def test_everything_needed_to_do_it_again_is_written_down(stack: Walk, finished: Left) -> None:
    setup = finished.bench.setup
    assert setup.manifest == (stack.folder / "monogpu.yaml").read_text() and setup.profile == "quick"
    assert {"monogpu/smg:1.13.0", "monogpu/vllm-pretend:0.32.0"} == setup.images.keys()
    assert all(digest.startswith("sha256:") or "@sha256:" in digest for digest in setup.images.values())
    assert setup.card["name"] == "host memory" and {"monogpu-kit", "docker"} <= setup.versions.keys()
    kept = {Path(name).stem for name in setup.stacks}
    assert {"as-given", "whole", "part", "two-replicas--round-robin", "two-replicas--cache-aware"} <= kept
    for name in setup.stacks:
        assert yaml.safe_load((results(stack) / name).read_text())["name"] == stack.name


def test_what_the_workers_held_is_beside_what_was_planned(finished: Left) -> None:
    planned = {one.service: sum(size for _, size in one.lines) for one in finished.bench.memory}
    assert planned.keys() == {"chat", "embed"} and all(size > 0 for size in planned.values())


def test_once_more_measures_nothing_and_starts_nothing(stack: Walk, finished: Left) -> None:
    found = left(stack, stack.kit("bench", "all", *QUICK).good())
    assert found.records == finished.records and found.containers == {}
    assert found.bench.experiments == finished.bench.experiments
    assert "estimated 0 s" in found.said.err
    assert "How should requests be spread" in found.said.out
