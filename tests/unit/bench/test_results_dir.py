"""The folder of a benchmark: what resumes, what is refused, and what lies in it."""

from __future__ import annotations

import gzip
import json
import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from kit.bench.design import schedule
from kit.bench.journal import (
    BenchStarted,
    Estimated,
    MemoryRead,
    PilotDone,
    Record,
    line,
)
from kit.bench.load import LoadSpec
from kit.bench.load_containers import Sent
from kit.bench.results_dir import (
    ResultsDir,
    digest_of,
    load_digest,
    load_seeds,
    setup_of,
)
from kit.bench.run_trial import (
    LoadProcess,
    TrialResult,
)
from kit.bench.sizing import Size
from kit.bench.steps import Session
from kit.bench.vllm_results import parse
from kit.errors import ManifestError, TargetError
from kit.gpu import from_size
from kit.units import GIB, MIB
from tests.support.benchfolder import bench_of, copied, do, folder_of, opened, ran, some, write_bench
from tests.support.benchrequests import HOST, example, protocols
from tests.support.servejson import generated, steady


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return copied(tmp_path)


# ---- resuming


def test_a_folder_that_is_not_there_is_empty_and_is_not_made(session: Session) -> None:
    files = ResultsDir.at(folder_of(session))
    assert (files.records, files.nonce) == ([], 0) and not folder_of(session).exists()


def test_what_is_added_is_there_for_the_next_one(session: Session) -> None:
    files = ResultsDir.at(folder_of(session))
    records: list[Record] = [BenchStarted("now", 77, "a card"), *do(files, *some(session), upto=0), Estimated(3.0, 2.0)]
    for record in records:
        files.add(record)
    again = ResultsDir.at(folder_of(session))
    assert again.records == files.records == records and again.nonce == 77


def test_a_line_that_was_cut_off_is_forgotten_and_what_follows_is_whole(session: Session) -> None:
    files = ResultsDir.at(folder_of(session))
    files.add(Estimated(1.0))
    with (folder_of(session) / "records.jsonl").open("a") as file:
        file.write(line(Estimated(2.0))[:-5])
    resumed = ResultsDir.at(folder_of(session))
    resumed.add(Estimated(3.0))
    assert ResultsDir.at(folder_of(session)).records == resumed.records == [Estimated(1.0), Estimated(3.0)]


def test_a_broken_line_is_refused_and_left_as_it_is(session: Session) -> None:
    folder_of(session).mkdir()
    text = "nonsense\n" + line(Estimated(1.0))
    (folder_of(session) / "records.jsonl").write_text(text)
    with pytest.raises(TargetError, match=r"records\.jsonl:1 is no record of a benchmark; .*; choose another folder"):
        ResultsDir.at(folder_of(session))
    assert (folder_of(session) / "records.jsonl").read_text() == text


# ---- results of something else


def test_results_of_the_same_are_taken(session: Session) -> None:
    files = ResultsDir.at(folder_of(session))
    files.add(BenchStarted("now", 1, setup_of(session.request)))
    do(files, *some(session, "router", "policy"))
    before = list(files.records)
    files.check(some(session, "router", "sweep", "policy"), session.request, fresh=False)
    assert files.records == before


WORDS = (
    r"bench holds results of another manifest, profile or card \(.*{}.*\); needed: another folder with -o, or --fresh"
)


def test_runs_and_looks_of_another_profile_are_refused(session: Session) -> None:
    other = replace(session.request, effort=replace(session.request.effort, seconds=3))
    (router,) = (one for name, one in protocols(other).items() if name == "router")
    step = next(schedule(router))
    look = PilotDone("router.direct-8", digest_of(router, step.trial), Size((1.0,), (1,)), 1.0, 1.0)
    for record in (ran(router, step), look):
        files = ResultsDir(folder_of(session), [record])
        with pytest.raises(ManifestError, match=WORDS.format(record.key.replace(".", r"\."))):
            files.check(some(session), session.request, fresh=False)


def test_results_of_another_manifest_are_refused_whatever_is_asked(session: Session) -> None:
    files = ResultsDir.at(folder_of(session))
    files.add(BenchStarted("now", 1, setup_of(session.request)))
    do(files, *some(session))
    changed = opened(session.project.folder, "context: 1k")
    with pytest.raises(ManifestError, match=WORDS.format("manifest [0-9a-f]{16}")):
        files.check(some(changed, "sweep"), changed.request, fresh=False)


def test_a_comment_in_the_manifest_changes_nothing(session: Session) -> None:
    changed = opened(session.project.folder, "context: 2k # tokens")
    assert setup_of(changed.request) == setup_of(session.request)


def test_results_of_another_card_are_refused(session: Session) -> None:
    files = ResultsDir.at(folder_of(session))
    files.add(BenchStarted("now", 1, setup_of(session.request)))
    card = replace(HOST, total_bytes=HOST.total_bytes + MIB)
    other = replace(session.request, plan=replace(session.request.plan, gpu=card))
    with pytest.raises(ManifestError, match=WORDS.format("8,589,934,592 bytes")):
        files.check(some(session), other, fresh=False)
    less_free = replace(session.request, plan=replace(session.request.plan, gpu=replace(HOST, free_bytes=MIB)))
    files.check(some(session), less_free, fresh=False)


def test_when_less_of_the_card_is_free_than_before_that_is_said(session: Session) -> None:
    card = from_size("16GiB")
    mine = replace(session.request, plan=replace(session.request.plan, gpu=card))
    files = ResultsDir.at(folder_of(session))
    files.add(BenchStarted("now", 1, "another card", card.free_bytes))
    with pytest.raises(ManifestError, match=r"--fresh$"):
        files.check([], mine, fresh=False)
    less = replace(mine, plan=replace(mine.plan, gpu=replace(card, free_bytes=12 * GIB)))
    words = r"; 16\.00 GiB of the card were free then and 12\.00 GiB are now: end what holds the rest$"
    with pytest.raises(ManifestError, match=words):
        files.check([], less, fresh=False)


def test_what_is_sent_alike_to_the_same_stack_needs_one_look() -> None:
    made = protocols(example("trio-16gb", "standard"))
    router = {trial.key: trial for trial in made["router"].trials}
    alone = {trial.key: trial for trial in (*made["sweep"].trials, *made["contention"].trials)}
    name, most = router["through-1"].loads[0].name, made["router"].trials[0].loads[0].concurrency
    same = (router[f"through-{most}"], alone[f"{name}-{most}"], alone[f"alone-{name}"])
    assert len({load_digest(one) for one in same}) == 1
    assert load_digest(router[f"direct-{most}"]) != load_digest(same[0])


def test_again_forgets_what_was_measured(session: Session) -> None:
    files = ResultsDir.at(folder_of(session))
    do(files, *some(session))
    write_bench(files, session, some(session))
    files.check(some(session), session.request, fresh=True)
    assert (files.records, ResultsDir.at(folder_of(session)).records) == ([], [])
    assert not (folder_of(session) / "bench.json").exists()


# ---- digests and seeds


def test_a_digest_changes_with_the_load_the_stack_and_the_experiment_and_not_with_the_round(session: Session) -> None:
    (router,) = some(session)
    one = router.trials[0]
    digests = [digest_of(router, trial) for trial in router.trials]
    assert len(set(digests)) == len(digests) and digests == [digest_of(router, trial) for trial in router.trials]
    assert digest_of(router, one) != digest_of(replace(router, name="prefix"), one)
    fewer = replace(one.variant, manifest=one.variant.manifest.model_copy(update={"start": "parallel"}))
    assert digest_of(router, one) != digest_of(router, replace(one, variant=fewer))
    assert digest_of(replace(router, rounds=9), one) == digest_of(router, one)


def test_every_run_has_prompts_of_its_own(session: Session) -> None:
    steps = [step for one in protocols(session.request).values() for step in schedule(one) if step.trial.loads]
    seeds = [load.seed for step in steps for load in load_seeds(step.trial, step.key, 7).loads]
    assert len(set(seeds)) == len(seeds)
    assert all(0 <= seed * 64 + 63 < 2**32 for seed in seeds)
    (first, *_) = steps
    assert load_seeds(first.trial, first.key, 7) == load_seeds(first.trial, first.key, 7)
    assert load_seeds(first.trial, first.key, 7) != load_seeds(first.trial, first.key, 8)


# ---- what lies in the folder


def part(load: LoadSpec, text: str) -> LoadProcess:
    return LoadProcess(load, ("bench", "serve", "--model", "a b"), Sent(text, 1.0, (0.5,), 0.25), parse(text))


def test_vllm_s_json_and_its_commands_are_kept(session: Session) -> None:
    (router,) = some(session)
    step = next(schedule(router))
    texts = [generated(steady(1000, seconds)) for seconds in (3, 5, 7)]
    one, other, third = (part(step.trial.loads[0], text) for text in texts)
    names, commands = ResultsDir.at(folder_of(session)).keep_raw(step, TrialResult(((one, other), (third,)), 2.0, {}))
    assert names == tuple(f"raw/router.direct-8.1.{n}.json" for n in range(3))
    assert [shlex.split(command) for command in commands] == [["vllm", "bench", "serve", "--model", "a b"]] * 3
    for name, text in zip(names, texts, strict=True):
        sums = json.loads((folder_of(session) / name).read_text())
        detail = folder_of(session) / "detail" / f"{Path(name).name}.gz"
        assert sums | json.loads(gzip.decompress(detail.read_bytes())) == json.loads(text)


def test_the_compose_file_of_every_stack_is_kept(session: Session, tmp_path: Path) -> None:
    for name in ("given", "others"):
        (tmp_path / name).write_text(f"# {name}\n")
    (router, policy) = some(session, "router", "policy")
    files = ResultsDir.at(folder_of(session))
    files.keep_stack(router.trials[0].variant, tmp_path / "given")
    files.keep_stack(policy.trials[0].variant, tmp_path / "others")
    kept = {path.name: path.read_text() for path in (folder_of(session) / "stacks").iterdir()}
    assert kept == {"as-given.yaml": "# given\n", "two-replicas--round-robin.yaml": "# others\n"}


def test_bench_json_has_everything_to_do_it_again(session: Session) -> None:
    files = ResultsDir.at(folder_of(session))
    files.add(BenchStarted("2026-01-01T00:00:00+00:00", 7, setup_of(session.request)))
    do(files, *some(session))
    files.add(MemoryRead({"chat": 5 * MIB}))
    files.add(Estimated(60.0, 66.0))
    (folder_of(session) / "stacks").mkdir()
    (folder_of(session) / "stacks" / "as-given.yaml").touch()
    assert write_bench(files, session, some(session)) == folder_of(session) / "bench.json"
    made = bench_of(session)
    assert (made.started, made.estimated_seconds, made.actual_seconds) == ("2026-01-01T00:00:00+00:00", 60, 66)
    assert made.setup.manifest == session.file.read_text() and made.setup.profile == "quick"
    assert made.setup.images == {"monogpu/smg:1.13.0": "sha256:abc"} and made.setup.card["name"] == "host memory"
    assert made.setup.versions["docker"] == "26.1.5" and made.setup.stacks == ("stacks/as-given.yaml",)
    assert {one.service: one.measured for one in made.memory} == {"chat": 5 * MIB, "embed": None}
    shares = {share.service: share.total_bytes for share in session.request.plan.shares}
    assert {one.service: sum(size for _, size in one.lines) for one in made.memory} == shares


def test_bench_json_keeps_the_experiments_of_other_commands(session: Session) -> None:
    files = ResultsDir.at(folder_of(session))
    do(files, *some(session, "router", "startup"))
    write_bench(files, session, some(session, "router", "startup"))
    do(files, *some(session, "sweep"))
    write_bench(files, session, some(session, "sweep"))
    assert [one.name for one in bench_of(session).experiments] == ["router", "sweep", "startup"]


def test_an_experiment_that_is_left_out_now_keeps_what_was_found_before(session: Session) -> None:
    files = ResultsDir.at(folder_of(session))
    (policy,) = some(session, "policy")
    do(files, policy)
    write_bench(files, session, [policy])
    (before,) = bench_of(session).experiments
    write_bench(files, session, [replace(policy, trials=(), views=(), remarks=("left out",))])
    assert bench_of(session).experiments == (before,)


def test_half_a_benchmark_is_written_too(session: Session) -> None:
    files = ResultsDir.at(folder_of(session))
    do(files, *some(session), upto=1)
    write_bench(files, session, some(session))
    (found,) = bench_of(session).experiments
    assert {arm.name for comparison in found.comparisons for arm in comparison.arms} == {"direct"}
    assert (bench_of(session).estimated_seconds, bench_of(session).actual_seconds) == (None, None)
