"""The CPU example from nothing to a sentence: real vLLM, a real model, the real router, the real command line."""

from __future__ import annotations

import json
from collections.abc import Iterator

import httpx
import pytest

from kit.bench.journal import read, runs
from kit.bench.results import from_text
from tests.support.walks import Said, Walk

pytestmark = pytest.mark.real


QUESTION = [{"role": "user", "content": "What is the capital of France?"}]


@pytest.fixture(scope="module", autouse=True)
def _gone_afterwards(demo: Walk) -> Iterator[None]:
    """These are the last tests of the example: its workers leave their cores to those of other files."""
    yield
    demo.vanish()


def ask(demo: Walk, path: str, **body: object) -> httpx.Response:
    answer = httpx.post(f"http://127.0.0.1:{demo.port}/v1/{path}", json=body, timeout=300, trust_env=False)
    answer.raise_for_status()
    return answer


def test_up_starts_verifies_and_reports(first: Said, demo: Walk) -> None:
    first.good()
    assert "✗" not in first.out and "answers a token" in first.out and "gives vectors" in first.out
    assert {name: each.health for name, each in demo.containers().items()} == dict.fromkeys(
        ("chat", "embed", "router"), "healthy"
    )


def test_a_question_gets_a_sentence(first: Said, demo: Walk) -> None:
    first.good()
    answer = ask(demo, "chat/completions", model="chat", messages=QUESTION, temperature=0, max_tokens=32).json()
    assert "Paris" in answer["choices"][0]["message"]["content"]
    assert answer["model"] == "chat"


def test_a_stream_brings_the_same_sentence_piece_by_piece(first: Said, demo: Walk) -> None:
    first.good()
    wish = {"model": "chat", "messages": QUESTION, "temperature": 0, "max_tokens": 32, "stream": True}
    lines = [line.removeprefix("data: ") for line in ask(demo, "chat/completions", **wish).text.split("\n") if line]
    assert lines[-1] == "[DONE]"
    deltas = [json.loads(line)["choices"][0]["delta"].get("content") or "" for line in lines[:-1]]
    assert len([text for text in deltas if text]) > 2 and "Paris" in "".join(deltas)


def test_logprobs_are_answered_and_the_worker_stays(first: Said, demo: Walk) -> None:
    """vLLM compiles a function at the first such request; without a compiler in the image that killed the engine."""
    first.good()
    before = demo.containers()["chat"]
    wish = {"model": "chat", "messages": QUESTION, "temperature": 0, "max_tokens": 4, "logprobs": True}
    content = ask(demo, "chat/completions", **wish, top_logprobs=2).json()["choices"][0]["logprobs"]["content"]
    assert len(content) == 4 and all(len(one["top_logprobs"]) == 2 for one in content)
    after = demo.containers()["chat"]
    assert (after.id, after.health) == (before.id, "healthy")


@pytest.mark.parametrize(
    ("path", "more", "param"),
    [
        ("completions", {"prompt": "The capital of France", "prompt_logprobs": 1}, "prompt_logprobs"),
        ("completions", {"prompt": "The capital of France", "echo": True, "logprobs": 1}, "echo"),
        ("chat/completions", {"messages": QUESTION, "prompt_logprobs": 0}, "prompt_logprobs"),
        ("chat/completions", {"messages": QUESTION, "echo": True, "add_generation_prompt": False}, "echo"),
    ],
)
def test_what_would_take_unplanned_memory_is_refused_before_the_engine(
    path: str, more: dict[str, object], param: str, first: Said, demo: Walk
) -> None:
    first.good()
    body = {"model": "chat", "max_tokens": 1, **more}
    answer = httpx.post(f"http://127.0.0.1:{demo.port}/v1/{path}", json=body, timeout=300, trust_env=False)
    error = answer.json()["error"]
    assert (answer.status_code, error["param"]) == (400, param) and "limits: {prompt_logprobs: true}" in error[
        "message"
    ]
    plain = ask(demo, "completions", model="chat", prompt="The capital of France", max_tokens=1, echo=True).json()
    assert plain["choices"][0]["text"].startswith("The capital of France")


def test_texts_that_mean_the_same_are_near_each_other(first: Said, demo: Walk) -> None:
    first.good()
    texts = ["The cat sat on the mat.", "A cat was sitting on a mat.", "Stock prices fell sharply on Monday."]
    data = ask(demo, "embeddings", model="embed", input=texts).json()["data"]
    cat, same, other = (entry["embedding"] for entry in data)
    assert len(cat) == 576
    assert _cosine(cat, same) > _cosine(cat, other)


def _cosine(one: list[float], other: list[float]) -> float:
    dot = sum(a * b for a, b in zip(one, other, strict=True))
    return dot / (sum(a * a for a in one) * sum(b * b for b in other)) ** 0.5


def test_the_workers_have_the_cache_that_the_plan_promised(first: Said, demo: Walk) -> None:
    first.good()
    shares = demo.kit("plan", "--json").good().json["shares"]
    for share in shares:
        said = demo.kit("logs", share["model"], "--tail", "2000").good().out
        assert f"KV cache size: {share['kv_tokens']:,} tokens" in said


def test_bench_measures_real_engines_and_leaves_them_as_they_are(first: Said, demo: Walk) -> None:
    first.good()
    serving = demo.ids()
    quick = ("--profile", "quick", "--seconds", "1", "--rounds", "1", "--concurrency", "2")
    demo.kit("bench", "router", *quick).good()
    assert demo.ids() == serving
    folder = demo.folder / "bench"
    (router,) = from_text((folder / "bench.json").read_text(), "bench.json").experiments
    assert [one.unit for one in router.comparisons] == ["tok/s", "ms", "ms", "ms", "ms"]
    assert all(arm.median and arm.median > 0 for one in router.comparisons for arm in one.arms)
    ran = runs(read((folder / "records.jsonl").read_text(), "records.jsonl"))
    assert {key.split(".")[1] for key in ran} == {"direct-2", "through-2", "direct-1", "through-1"}
    for one in ran.values():
        found = one.models["chat"]
        assert (found.failed, found.completed > 0) == (0, True)
        assert found.ttft and found.e2el and 0 < found.ttft.p50 < found.e2el.p50


def test_compose_alone_stops_it_and_starts_it_again_and_the_kit_keeps_that(first: Said, demo: Walk) -> None:
    first.good()
    listed = demo.compose("ps", "--services")
    assert set(listed.split()) == {"chat", "embed", "router"}
    demo.compose("down")
    assert demo.ids() == {}
    demo.compose("up", "-d", "--wait")
    theirs = demo.ids()
    assert demo.kit("up", "--json").good().json["verification"]["ok"]
    assert demo.ids() == theirs
