"""`bench` as it is typed, and what it leaves out before anything runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kit.bench.design import (
    AS_GIVEN,
    EFFORTS,
    BenchOptions,
    Effort,
)
from kit.bench.experiments import EXPERIMENTS
from kit.bench.journal import BenchStarted
from kit.commands.bench import (
    as_before,
    effort_of,
    levels_of,
    refuse_changes,
    that_plans,
    without_restart,
)
from kit.compose.operation import Operation
from kit.errors import TargetError
from kit.gpu import from_size, host
from kit.project.load import choose_gpu, read_project
from kit.units import GIB
from tests.support.benchrequests import HOST, example, protocols
from tests.support.typed import EXAMPLES, ROOT, kit

DEMO = ROOT / "compose" / "cpu-demo" / "monogpu.yaml"
LIMITS = "needed: ttft:500, tpot:50, e2el:5000"
CONCURRENCY = "needed: the most requests at once, such as 48, or the steps of a sweep, such as 1,8,48"
KNOWN = ", ".join(["all", *EXPERIMENTS])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["rooter"], f"'rooter' is no experiment; needed: {KNOWN}"),
        (["router,sweeep,splitt"], f"'sweeep, splitt' is no experiment; needed: {KNOWN}"),
        (["all,router"], f"'all' is no experiment; needed: {KNOWN}"),
        ([","], f"'' is no experiment; needed: {KNOWN}"),
        (
            ["monogpu.yaml"],
            f"'monogpu.yaml' is no experiment; needed: {KNOWN}; the manifest comes second: bench all monogpu.yaml",
        ),
        (
            [DEMO, "router"],
            f"'{DEMO}' is no experiment; needed: {KNOWN}; the manifest comes second: bench all {DEMO}",
        ),
        (["--profile", "fast"], "--profile fast is not known; needed: quick, standard, full"),
        (["sweep", "--rates", "1,x"], "--rates 1,x cannot be read; needed: requests a second, such as 1,2,4,8"),
        (["sweep", "--rates", "0,1"], "--rates 0,1 cannot be read; needed: requests a second, such as 1,2,4,8"),
        (["sweep", "--rates", "-1"], "--rates -1 cannot be read; needed: requests a second, such as 1,2,4,8"),
        (["sweep", "--rates", "nan"], "--rates nan cannot be read; needed: requests a second, such as 1,2,4,8"),
        (["sweep", "--rates", "inf"], "--rates inf cannot be read; needed: requests a second, such as 1,2,4,8"),
        (["sweep", "--concurrency", "1,2.5"], f"--concurrency 1,2.5 cannot be read; {CONCURRENCY}"),
        (["sweep", "--concurrency", "0,8"], f"--concurrency 0,8 cannot be read; {CONCURRENCY}"),
        (["router", "--concurrency", "0"], f"--concurrency 0 cannot be read; {CONCURRENCY}"),
        (
            ["sweep", "--concurrency", "1,8", "--rates", "2"],
            "--concurrency 1,8 and --rates are two kinds of sweep; needed: one of them, or a single --concurrency",
        ),
        (["sweep", "--goodput", "ttft"], f"--goodput ttft cannot be read; {LIMITS}"),
        (["sweep", "--goodput", "ttft:0"], f"--goodput ttft:0 cannot be read; {LIMITS}"),
        (["sweep", "--goodput", "itl:5"], f"--goodput itl:5 cannot be read; {LIMITS}"),
        (
            ["sweep", "--goodput", "tpot:5", "--goodput", "tpot:9"],
            "--goodput has one limit twice; needed: each of them once",
        ),
        (["router", "nowhere.yaml"], "nowhere.yaml: no such file; `monogpu-kit init` writes one"),
        (
            ["policy", DEMO, "--policies", "fair,manual"],
            "--policies fair, manual cannot be compared; needed: some of round_robin, random, power_of_two, "
            "least_load, cache_aware, prefix_hash, consistent_hashing",
        ),
    ],
)
def test_wrong_words_are_refused_before_anything_runs(words: list[str | Path], said: str, tmp_path: Path) -> None:
    found = kit("bench", *words, at=tmp_path)
    assert (found.code, found.out, found.err) == (2, "", f"{said}\n")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("words", [["--seconds", "0.1"], ["--rounds", "0"], ["--starts", "0"]])
def test_numbers_out_of_range_are_the_command_line_s_own_error(words: list[str], tmp_path: Path) -> None:
    found = kit("bench", "router", DEMO, *words, at=tmp_path)
    assert found.code == 2 and words[0] in found.err and "greater than or equal" in found.err


def test_help_names_every_experiment_and_option() -> None:
    said = "".join(kit("bench", "--help").good().out.split())  # whole lines: names are wrapped at hyphens
    for word in (*KNOWN.split(", "), "--profile", "--fresh", "--allow-restart", "--goodput", "--rates", "--policies"):
        assert word in said


@pytest.mark.parametrize("profile", EFFORTS)
def test_a_profile_is_its_effort(profile: str) -> None:
    assert effort_of(BenchOptions(profile=profile)) == EFFORTS[profile]


def test_options_change_the_effort() -> None:
    made = effort_of(BenchOptions(profile="quick", rounds=1, seconds=1.5, concurrency="4"))
    assert made == replace(EFFORTS["quick"], rounds=1, restarts=1, inner=1, starts=1, seconds=1.5, concurrency=4)
    once: Effort = effort_of(BenchOptions(rounds=5, starts=2))
    assert (once.rounds, once.restarts, once.starts) == (5, 5, 2)


@pytest.mark.parametrize(
    ("given", "most", "levels"), [("", 48, ()), ("16", 16, ()), ("1,48,8", 48, (1, 8, 48)), ("8,8", 8, ())]
)
def test_several_values_of_concurrency_are_the_steps_of_sweep_and_the_largest_is_the_most(
    given: str, most: int, levels: tuple[int, ...]
) -> None:
    options = BenchOptions(concurrency=given)
    assert (effort_of(options).concurrency, levels_of(options)) == (most, levels)


def test_a_benchmark_goes_on_with_the_card_as_it_was_when_more_of_it_is_free_now() -> None:
    card = from_size("16GiB")
    began = BenchStarted("now", 1, "a card", card.free_bytes - GIB)
    assert as_before(began, card) == replace(card, free_bytes=card.free_bytes - GIB)
    assert as_before(began, replace(card, free_bytes=GIB)) == replace(card, free_bytes=GIB)
    for nothing in (None, BenchStarted("now", 1, "a card")):
        assert as_before(nothing, card) == card
    assert as_before(BenchStarted("now", 1, "the host", GIB), HOST) == HOST


def test_what_runs_is_not_brought_up_to_date_behind_the_user_s_back() -> None:
    refuse_changes(())
    operations = [Operation("drain", "chat", "it is edited"), Operation("replace", "chat", "it is edited")]
    with pytest.raises(TargetError) as raised:
        refuse_changes(operations)
    said = (
        "the running stack differs from the manifest: chat; `monogpu-kit up` brings it up to date; with --allow-restart"
    )
    assert str(raised.value) == f"{said} bench does it"


# ---- what is left out


def test_while_a_stack_serves_what_would_stop_it_is_left_out_and_said() -> None:
    why = "left out: it stops the running stack; --allow-restart allows that, and brings it back at the end"
    left = {name: without_restart(one) for name, one in protocols(example("trio-16gb", "standard")).items()}
    assert {name for name, one in left.items() if not one.trials} == {"memory-share", "policy", "mps", "startup"}
    for name, one in left.items():
        assert (one.remarks[-1:] == (why,)) == (not one.trials) and bool(one.views) == bool(one.trials)
        assert {trial.variant.key for trial in one.trials} <= {AS_GIVEN}, name


def test_what_is_left_out_for_another_reason_keeps_it() -> None:
    mps = protocols(example("cpu-demo", "quick"))["mps"]
    assert without_restart(mps) == mps


@pytest.mark.parametrize("folder", EXAMPLES, ids=[folder.name for folder in EXAMPLES])
def test_every_stack_of_every_example_can_be_planned(folder: Path) -> None:
    project = read_project(folder / "monogpu.yaml")
    gpu = choose_gpu(project, None)
    for one in protocols(example(folder.name, "standard")).values():
        assert that_plans(one, project, gpu) == one


def test_an_experiment_whose_stack_does_not_fit_is_left_out_with_its_reason() -> None:
    project = read_project(DEMO)
    policy = protocols(example("cpu-demo", "quick"))["policy"]
    left = that_plans(policy, project, host(3 * GIB, 3 * GIB, "for a test"))
    assert left.trials == left.views == () and left.question == policy.question
    (remark,) = left.remarks
    assert remark.startswith("left out: the stack 'two replicas, round_robin' cannot be planned: ")
    assert "chat" in remark and "GiB" in remark and "\n" not in remark


def test_a_stack_of_an_engine_that_cannot_be_planned_is_left_out_too() -> None:
    rag = example("rag", "standard")
    project = read_project(ROOT / "compose" / "rag" / "monogpu.yaml")
    start = protocols(rag)["startup"]
    (one,) = start.trials
    parallel = replace(
        one, variant=replace(one.variant, manifest=rag.manifest.model_copy(update={"start": "parallel"}))
    )
    left = that_plans(replace(start, trials=(parallel,)), project, rag.plan.gpu)
    assert left.trials == () and "rerank cannot start beside others" in left.remarks[-1]


def test_the_host_of_a_demo_is_enough_for_all_of_it() -> None:
    assert that_plans(protocols(example("cpu-demo", "quick"))["startup"], read_project(DEMO), HOST).trials
