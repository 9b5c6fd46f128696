"""Answers that are good, and answers that only look so."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.verify import checks, client, responses
from kit.verify.responses import Verdict


def body(value: Any) -> bytes:
    return json.dumps(value).encode()


def chat(content: Any = "Paris.", model: str = "chat", **message: Any) -> bytes:
    return body({"model": model, "choices": [{"message": {"role": "assistant", "content": content, **message}}]})


def sse(*frames: Any) -> bytes:
    return b"".join(b"data: %s\n\n" % (f.encode() if isinstance(f, str) else body(f)) for f in frames)


def delta(content: Any = None, model: str = "chat", **more: Any) -> dict[str, Any]:
    return {"model": model, "choices": [{"delta": {"content": content, **more}}]}


def test_a_chat_with_a_token_from_the_asked_name_is_good() -> None:
    assert responses.judge_chat("chat", 200, chat()) == Verdict(True, "Paris.", "Paris.")


def test_reasoning_counts_as_tokens() -> None:
    assert responses.judge_chat("chat", 200, chat(None, reasoning_content="Hmm")).ok
    assert responses.judge_chat("chat", 200, chat("", reasoning="Hmm")).ok


BAD_CHATS = {
    "empty content": (200, chat(""), "an answer without a single token"),
    "null content": (200, chat(None), "an answer without a single token"),
    "number as content": (200, chat(7), "an answer without a single token"),
    "no choices": (200, body({"model": "chat", "choices": []}), "no message in the answer"),
    "null": (200, b"null", "not a JSON object: null"),
    "a list": (200, b"[]", "not a JSON object: []"),
    "nothing": (200, b"", "not a JSON object: "),
    "HTML": (200, b"<html>Welcome to nginx!</html>", "not a JSON object: <html>Welcome to nginx!</html>"),
    "another model": (200, chat(model="Qwen/Qwen3-0.6B"), "Qwen/Qwen3-0.6B answers to the name chat"),
    "an error with 200": (200, body({"error": {"message": "boom"}}), "an error with HTTP 200: boom"),
    "an error in words": (200, body({"error": "boom"}), "an error with HTTP 200: boom"),
    "400": (400, body({"error": {"message": "too long"}}), "HTTP 400: too long"),
    "HTML with 502": (502, b"<h1>Bad Gateway</h1>", "HTTP 502: <h1>Bad Gateway</h1>"),
    "nobody": (0, b"Connection refused", "no answer: Connection refused"),
    "bytes": (200, b"\xff\xfe\x00", "not a JSON object: \ufffd\ufffd\ufffd"),
}


@pytest.mark.parametrize(("status", "said", "detail"), BAD_CHATS.values(), ids=BAD_CHATS)
def test_a_bad_chat_is_said_in_words(status: int, said: bytes, detail: str) -> None:
    verdict = responses.judge_chat("chat", status, said)
    assert (verdict.ok, verdict.detail) == (False, detail)


def test_only_what_a_starting_router_says_may_pass() -> None:
    passing = {status for status in range(600) if responses.judge_chat("chat", status, b"").may_pass}
    assert passing == {0, 404, 408, 429, 502, 503, 504}
    unreached = b'{"error": {"code": "call_upstream_connection_failed", "message": "Failed to reach the worker"}}'
    assert responses.judge_chat("chat", 500, unreached).may_pass


def test_a_completion_needs_a_token() -> None:
    answer = {"model": "chat", "choices": [{"text": " Paris"}]}
    assert responses.judge_completion("chat", 200, body(answer)).text == " Paris"
    assert not responses.judge_completion("chat", 200, body({"model": "chat", "choices": [{"text": ""}]})).ok


def test_a_stream_of_several_frames_that_ends_is_good() -> None:
    verdict = responses.judge_stream("chat", 200, sse(delta(""), delta("Par"), delta("is."), "[DONE]"))
    assert verdict == Verdict(True, "3 frames: Paris.", "Paris.")


def test_a_streamed_completion_is_read_as_well() -> None:
    frames = [{"model": "chat", "choices": [{"text": text}]} for text in ("Par", "is")]
    assert responses.judge_stream("chat", 200, sse(*frames, "[DONE]")).text == "Paris"


def test_line_separators_inside_a_token_do_not_break_a_frame() -> None:
    frame = json.dumps(delta("a\u2028b"), ensure_ascii=False)
    assert responses.judge_stream("chat", 200, sse(delta(""), frame, "[DONE]")).text == "a\u2028b"


USAGE = {"model": "chat", "choices": [], "usage": {"completion_tokens": 2}}
BAD_STREAMS = {
    "an error frame before the end": (
        sse(delta("Par"), {"error": {"message": "Stream error: worker died"}}, "[DONE]"),
        "the stream holds an error: Stream error: worker died",
    ),
    "broken off": (sse(delta("Par"), delta("is")), "the stream broke off: no [DONE] at its end"),
    "half a frame": (sse(delta("Par"))[:-20], "the stream broke off: no [DONE] at its end"),
    "one frame": (sse(delta("Paris"), "[DONE]"), "1 frames, and 5 characters in them"),
    "no text": (sse(delta(""), delta(None), "[DONE]"), "2 frames, and 0 characters in them"),
    "nothing but the end": (sse("[DONE]"), "0 frames, and 0 characters in them"),
    "not JSON": (sse("what", "[DONE]"), "a frame of the stream is not a JSON object"),
    "another model": (sse(delta("a"), delta("b", model="other"), "[DONE]"), "other answers to the name chat"),
    "not a stream": (chat(), "not a stream: "),
}


@pytest.mark.parametrize(("said", "detail"), BAD_STREAMS.values(), ids=BAD_STREAMS)
def test_a_bad_stream_is_said_in_words(said: bytes, detail: str) -> None:
    verdict = responses.judge_stream("chat", 200, said)
    assert not verdict.ok
    assert verdict.detail.startswith(detail)


def test_a_usage_frame_at_the_end_of_a_stream_is_no_fault() -> None:
    assert responses.judge_stream("chat", 200, sse(delta("Par"), delta("is"), USAGE, "[DONE]")).ok


def vectors(*found: Any, model: str = "embed") -> bytes:
    return body({"model": model, "data": [{"embedding": vector} for vector in found]})


def test_different_vectors_for_different_texts_are_good() -> None:
    assert responses.judge_embeddings("embed", 200, vectors([1, 0.5], [0.5, 1]), 2).detail == "2 dimensions"


@pytest.mark.parametrize(
    ("said", "detail"),
    [
        (vectors([1, 2]), "not one vector for each of 2 texts"),
        (vectors([1, 2], [1, 2]), "different texts have the same vector"),
        (vectors([0, 0], [1, 2]), "a vector is zero"),
        (vectors([1, float("nan")], [1, 2]), "a vector holds NaN or infinity"),
        (vectors([1, None], [1, 2]), "a vector is not a list of numbers"),
        (vectors("AAAA", "BBBB"), "a vector is not a list of numbers"),
        (vectors([], []), "a vector is not a list of numbers"),
        (vectors([1], [1, 2]), "vectors of different lengths"),
        (vectors([1, True], [1, 2]), "a vector is not a list of numbers"),
    ],
)
def test_a_bad_embedding_is_said_in_words(said: bytes, detail: str) -> None:
    assert responses.judge_embeddings("embed", 200, said, 2) == Verdict(False, detail)


def test_a_score_for_each_document_is_good() -> None:
    good = {"model": "rank", "results": [{"relevance_score": 0.9}, {"relevance_score": 0.1}]}
    assert responses.judge_scores("rank", 200, body(good), 2).detail == "scores 0.9, 0.1"
    assert not responses.judge_scores("rank", 200, body({**good, "results": good["results"][:1]}), 2).ok
    assert not responses.judge_scores("rank", 200, body({**good, "results": [{}, {}]}), 2).ok


def test_probabilities_are_good_classes() -> None:
    assert (
        responses.judge_classes("kind", 200, body({"model": "kind", "data": [{"probs": [0.1, 0.9]}]})).detail
        == "2 classes"
    )
    assert not responses.judge_classes("kind", 200, body({"model": "kind", "data": []})).ok


def test_a_made_up_name_must_be_404() -> None:
    assert responses.judge_unknown(404, b"").ok
    assert responses.judge_unknown(200, chat()).detail.endswith("instead of 404")
    assert not responses.judge_unknown(0, b"Connection refused").ok


def test_without_the_key_nothing_is_answered() -> None:
    assert responses.judge_locked(401, b"").ok
    assert not responses.judge_locked(200, chat()).ok
    assert not responses.judge_locked(0, b"").ok


def test_exactly_the_declared_names_must_be_listed() -> None:
    def listed(*names: Any) -> bytes:
        return body({"object": "list", "data": [{"id": name} for name in names]})

    assert responses.judge_models({"chat", "code"}, 200, listed("code", "chat")) == Verdict(True, "2 names")
    wrong = responses.judge_models({"chat", "code"}, 200, listed("chat", "unknown"))
    assert (wrong.detail, wrong.may_pass) == ("code missing; unknown not declared", True)
    assert not responses.judge_models({"chat"}, 200, body({"models": ["chat"]})).ok
    assert not responses.judge_models({"chat"}, 200, b"<html>").ok


def test_an_adapter_must_differ_from_every_other_name_of_its_worker() -> None:
    answers = {"chat": ["a", "b"], "code": ["a", "c"], "sql": ["a", "b"]}
    assert checks.judge_adapter("code", answers).ok
    assert checks.judge_adapter("sql", answers).detail == "answers all 2 prompts exactly as chat"
    assert checks.judge_adapter("sql", {"chat": ["a"], "sql": []}).detail == "sql gave no answers to compare"
    assert not checks.judge_adapter("sql", {"chat": [], "sql": ["a"]}).ok


@pytest.mark.parametrize(
    ("status", "said", "lacks"), [(400, b"no chat template", True), (400, b"no", False), (200, b"chat template", False)]
)
def test_a_missing_chat_template_is_recognised(status: int, said: bytes, lacks: bool) -> None:
    assert client.lacks_chat_template(status, said) is lacks


JUDGES: list[Callable[[int, bytes], Verdict]] = [
    lambda status, said: responses.judge_chat("chat", status, said),
    lambda status, said: responses.judge_completion("chat", status, said),
    lambda status, said: responses.judge_stream("chat", status, said),
    lambda status, said: responses.judge_embeddings("chat", status, said, 2),
    lambda status, said: responses.judge_scores("chat", status, said, 2),
    lambda status, said: responses.judge_classes("chat", status, said),
    responses.judge_unknown,
    responses.judge_locked,
    lambda status, said: responses.judge_models({"chat"}, status, said),
]
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
WORDS = st.sampled_from(
    ["model", "choices", "message", "delta", "content", "text", "error", "data", "embedding", "probs", "results", "id"]
)
TREES = st.recursive(
    SCALARS | st.just("chat"), lambda inner: st.lists(inner) | st.dictionaries(WORDS | st.text(), inner)
)
ANSWERS = st.builds(lambda tree: json.dumps({"model": "chat", **tree}).encode(), st.dictionaries(WORDS, TREES))
STREAMS = st.lists(ANSWERS | st.binary(max_size=20) | st.just(b"[DONE]")).map(
    lambda frames: b"".join(b"data: " + frame + b"\n\n" for frame in frames)
)


@given(st.sampled_from(JUDGES), st.sampled_from([200, 200, 200, 0, 404, 503]), ANSWERS | STREAMS | st.binary())
def test_judging_never_raises_and_praises_only_a_200_or_a_refusal(
    judged: Callable[[int, bytes], Verdict], status: int, said: bytes
) -> None:
    verdict = judged(status, said)
    assert isinstance(verdict.detail, str)
    assert not verdict.ok or status == 200 or judged in (responses.judge_unknown, responses.judge_locked)


@pytest.mark.parametrize("judged", JUDGES)
def test_deep_and_huge_answers_are_survived(judged: Callable[[int, bytes], Verdict]) -> None:
    for said in (
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b"9" * 10_000,
        body({"model": "chat", "data": [{"probs": [10**400]}]}),
    ):
        assert not judged(200, said).ok
