from __future__ import annotations

import json
from collections.abc import Sequence
from statistics import quantiles
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.bench.results import Figures
from kit.bench.vllm_results import figures, overlap, parse, percentiles, together
from kit.errors import TargetError
from tests.support.servejson import FAILED, LOADS, SECONDS, Sent, embedded, generated, recorded, steady

PARTS = (50, 90, 99)


def of(*processes: Sequence[Sent], newer: bool = True, duration: float | None = None) -> Figures:
    return figures([parse(generated(sent, newer=newer, duration=duration)) for sent in processes if sent])


def close(one: Figures, other: Figures) -> bool:
    """Equal, but for the order in which floats were added."""
    mine, theirs = (_flat(found) for found in (one, other))
    return mine.keys() == theirs.keys() and all(mine[key] == pytest.approx(theirs[key], rel=1e-6) for key in mine)


def _flat(found: Figures) -> dict[str, Any]:
    named = {"tokens": found.tokens, "requests": found.requests, "asked": (found.completed, found.failed)}
    latencies = {name: getattr(found, name) for name in ("ttft", "tpot", "e2el")}
    told = {f"{name} p{p}": getattr(of, f"p{p}") for name, of in latencies.items() if of for p in PARTS}
    return {**named, **told}


# ---- what vLLM says itself


@pytest.mark.parametrize("latency", ["ttft", "tpot", "e2el"])
def test_percentiles_are_vllm_s_own(latency: str) -> None:
    text = recorded("generate")
    said, found = json.loads(text), getattr(figures([parse(text)]), latency)
    assert [getattr(found, f"p{p}") for p in PARTS] == pytest.approx([said[f"p{p}_{latency}_ms"] for p in PARTS])


def test_counts_and_rates_are_vllm_s_own() -> None:
    said, found = json.loads(recorded("generate")), figures([parse(recorded("generate"))])
    assert (found.completed, found.failed, found.goodput) == (said["completed"], 0, None)
    assert (found.tokens, found.requests) == (said["output_throughput"], said["request_throughput"])


def test_the_moments_of_the_requests_are_the_load_s_duration() -> None:
    said, answer = json.loads(recorded("generate")), parse(recorded("generate"))
    lasted = max(request.end for request in answer.requests) - min(request.start for request in answer.requests)
    assert lasted == pytest.approx(said["duration"], rel=0.02)
    assert sum(request.output for request in answer.requests) == said["total_output_tokens"]


def test_embeddings_have_vllm_s_sums_and_prompt_tokens() -> None:
    said, found = json.loads(recorded("embed")), figures([parse(recorded("embed"))])
    assert (found.completed, found.failed, found.ttft, found.tpot) == (16, 0, None, None)
    assert (found.tokens, found.requests) == (said["total_token_throughput"], said["request_throughput"])
    assert found.e2el and [getattr(found.e2el, f"p{p}") for p in PARTS] == [said[f"p{p}_e2el_ms"] for p in PARTS]


@given(LOADS, LOADS)
def test_the_older_vllm_s_json_is_read_alike(one: list[Sent], other: list[Sent]) -> None:
    assert of(one, other, newer=False) == of(one, other)


# ---- percentiles


@given(st.lists(SECONDS, min_size=2, max_size=40))
def test_percentiles_are_interpolated(seconds: list[float]) -> None:
    cuts = quantiles(seconds, n=100, method="inclusive")
    found = percentiles(seconds)
    assert found and [getattr(found, f"p{p}") for p in PARTS] == pytest.approx([cuts[p - 1] * 1e3 for p in PARTS])


def test_percentiles_of_one_are_that_one_and_of_nothing_none() -> None:
    found = percentiles([0.25])
    assert found and (found.p50, found.p90, found.p99) == (250, 250, 250)
    assert percentiles([]) is None


# ---- several processes


@given(LOADS, st.data())
def test_splitting_a_load_over_processes_changes_nothing(load: list[Sent], data: st.DataObject) -> None:
    """They send side by side: each takes as long as the whole."""
    count = data.draw(st.integers(1, 4))
    places = data.draw(st.lists(st.integers(0, count - 1), min_size=len(load), max_size=len(load)))
    parts = [[one for one, place in zip(load, places, strict=True) if place == n] for n in range(count)]
    assert close(of(*parts, duration=20), of(load, duration=20))


@given(st.lists(LOADS, min_size=1, max_size=4), st.randoms(use_true_random=False))
def test_the_order_of_processes_and_requests_does_not_matter(processes: list[list[Sent]], random: Any) -> None:
    mixed = [random.sample(sent, len(sent)) for sent in random.sample(processes, len(processes))]
    assert close(of(*processes), of(*mixed))
    one, other = ([parse(generated(sent)) for sent in some] for some in (processes, mixed))
    assert overlap(one) == overlap(other)


@given(st.lists(LOADS, min_size=1, max_size=4))
def test_overlap_is_a_share_that_more_processes_never_raise(processes: list[list[Sent]]) -> None:
    answers = [parse(generated(sent)) for sent in processes]
    shares = [overlap(answers[: n + 1]) for n in range(len(answers))]
    assert shares[0] == 1 and all(share is not None and 0 <= share <= 1 for share in shares)
    assert shares == sorted(shares, key=lambda share: -(share or 0))


@pytest.mark.parametrize(
    ("spans", "share"),
    [
        ([(0, 10)], 1.0),
        ([(0, 10), (0, 10)], 1.0),
        ([(0, 10), (2, 10)], 0.8),
        ([(0, 10), (2, 6), (4, 10)], 0.2),
        ([(0, 4), (6, 10)], 0.0),
    ],
)
def test_overlap_is_the_part_of_the_time_in_which_all_were_at_it(spans: list[tuple[int, int]], share: float) -> None:
    answers = [parse(generated(steady(1000 + begin, end - begin))) for begin, end in spans]
    assert overlap(answers) == pytest.approx(share)


def test_overlap_is_unknown_where_one_tells_no_moments() -> None:
    text, vector = parse(generated(steady(1000, 10))), parse(embedded(steady(1000, 10)))
    assert overlap([text, vector]) is None and overlap([vector]) is None and overlap([]) is None


# ---- tokens


@pytest.mark.parametrize("each", [1, 4, 7])
def test_tokens_are_counted_however_many_a_part_of_an_answer_has(each: int) -> None:
    clients = [steady(1000, 20, every=1.0, parts=10, each=each), steady(1000, 20, every=1.0, parts=10, each=each)]
    found = of(*clients)
    assert found.tokens == pytest.approx(20 * each) and found.requests == pytest.approx(2)
    assert found.tpot and found.tpot.p50 == pytest.approx(900 / (10 * each - 1))


def test_the_time_a_token_is_vllm_s_even_in_parts_of_several() -> None:
    found = of([Sent(1000, 0.2, (0.4, 0.4), 9)])
    assert found.tpot and found.tpot.p50 == pytest.approx(100)  # 0.8 s for the 8 tokens after the first


def test_an_answer_of_one_token_has_no_time_a_token() -> None:
    found = of([Sent(1000, 0.2, (), 1)])
    assert found.tpot is None and found.ttft and found.ttft.p50 == pytest.approx(200)


# ---- failures


@given(LOADS, st.lists(FAILED, min_size=1, max_size=5), st.randoms(use_true_random=False))
def test_failed_requests_are_counted_and_change_no_figure(load: list[Sent], bad: list[Sent], random: Any) -> None:
    mixed = random.sample([*load, *bad], len(load) + len(bad))
    found, good = of(mixed, duration=20), of(load, duration=20)
    assert (found.completed, found.failed) == (len(load), len(bad))
    assert (good.completed, good.failed) == (len(load), 0)
    assert found.ttft == good.ttft and found.tpot == good.tpot and found.e2el == good.e2el
    assert found.tokens == pytest.approx(good.tokens) and found.requests == pytest.approx(good.requests)


def test_failed_embeddings_are_those_that_were_asked_and_not_answered() -> None:
    sent = [Sent(1000, 0.5), Sent(1000, 0.5), Sent(1001, error="Bad Gateway")]
    assert parse(embedded(sent)).failed == 1
    assert figures([parse(embedded(sent, newer=False))]).failed == 1


def test_embeddings_of_several_processes_have_no_percentiles_of_their_own() -> None:
    answers = [parse(embedded([Sent(1000, 1.0)])), parse(embedded([Sent(1000, 0.5)]))]
    found = figures(answers)
    assert (found.tokens, found.requests, found.e2el) == (64 + 128, 1 + 2, None)


@pytest.mark.parametrize("made", [generated, embedded])
def test_a_load_that_nobody_answered_is_an_error_with_vllm_s_first_words(made: Any) -> None:
    answers = [parse(made([Sent(1000, error=word), Sent(1001, error="x")])) for word in ("Not Found", "Bad Gateway")]
    with pytest.raises(TargetError, match="no request of the load was answered") as caught:
        figures(answers)
    assert caught.value.evidence == "Not Found"


def test_a_process_that_was_not_answered_does_not_hide_the_others() -> None:
    found = of([Sent(1000, error="Not Found")], [Sent(1000, 0.5, (0.5,), 2)])
    assert (found.completed, found.failed) == (1, 1)


def test_goodput_is_added_and_unknown_where_it_was_not_asked() -> None:
    asked = [parse(generated([Sent(1000, 0.5, (0.5,), 2)], goodput=number)) for number in (1.5, 0.0)]
    assert figures(asked).goodput == 1.5
    assert figures([*asked, parse(generated([Sent(1000, 0.5, (0.5,), 2)]))]).goodput is None


# ---- all models


def test_models_are_added_and_their_latencies_are_not_mixed() -> None:
    models = {"chat": of([Sent(1000, 0.5, (0.5,), 2)]), "embed": figures([parse(embedded([Sent(1000, 1.0)]))])}
    found = together(models)
    assert (found.tokens, found.requests, found.completed, found.failed) == (66, 2, 2, 0)
    assert (found.ttft, found.tpot, found.e2el, found.goodput) == (None, None, None, None)


def test_goodput_of_all_is_known_when_that_of_each_is() -> None:
    one, other = (figures([parse(generated([Sent(1000, 0.5, (), 1)], goodput=number))]) for number in (1.0, 2.0))
    assert together({"a": one, "b": other}).goodput == 3
