"""Whether an HTTP answer is what a model's name promises. Pure: status and body in, verdict out; nothing raises.

A 200 proves little: routers send HTML, engines send nulls, streams break off with an error frame after a good start. So
each answer is taken apart down to the token, and the first thing that is wrong is said in words.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any, Concatenate, ParamSpec

from kit.errors import printable

NO_ANSWER = 0  # the status without an answer; the body says why
TIMED_OUT = -1  # the status of a request that was taken and not answered in time
MAY_PASS = (NO_ANSWER, 404, 408, 429, 502, 503, 504)  # what a router says while a worker is not there yet
UNREACHED = b"call_upstream"  # in SMG's errors of a worker that it did not reach; a 500 of the worker itself stays one
SHOWN = 120  # characters of an answer that are repeated
P = ParamSpec("P")


@dataclass(frozen=True)
class Verdict:
    """`detail` says what was answered, or what is wrong with it; `text` is what a model generated; `may_pass` that the
    same question may be answered a moment later; `silent` that the request was taken and not answered in time."""

    ok: bool
    detail: str
    text: str = ""
    may_pass: bool = False
    silent: bool = False


def of_json(
    judge: Callable[Concatenate[dict[str, Any], P], Verdict],
) -> Callable[Concatenate[str, int, bytes, P], Verdict]:
    """A judge of the JSON object that `name` answered becomes one of a name, a status and a body."""

    def judge_body(name: str, status: int, body: bytes, /, *args: P.args, **kwargs: P.kwargs) -> Verdict:
        if status != 200:
            return refusal(status, body)
        answer = json_of(decoded(body))
        if not isinstance(answer, dict):
            return Verdict(False, f"not a JSON object: {short(decoded(body))}")
        if wrong := error(answer):
            return Verdict(False, f"an error with HTTP 200: {short(wrong)}")
        if answer.get("model") != name:
            return Verdict(False, f"{short(answer.get('model'))} answers to the name {name}")
        return judge(answer, *args, **kwargs)

    return judge_body


@of_json
def judge_chat(answer: dict[str, Any]) -> Verdict:
    """/v1/chat/completions: a message with at least one token of content or of reasoning, from `name`."""
    message = dig(answer, "choices", 0, "message")
    if not isinstance(message, dict):
        return Verdict(False, "no message in the answer")
    return _said(first_text(message, "content", "reasoning_content", "reasoning"))


@of_json
def judge_completion(answer: dict[str, Any]) -> Verdict:
    """/v1/completions: at least one token, from `name`."""
    return _said(dig(answer, "choices", 0, "text"))


def _said(text: object) -> Verdict:
    if not isinstance(text, str) or not text:
        return Verdict(False, "an answer without a single token")
    return Verdict(True, short(text), text)


def judge_stream(name: str, status: int, body: bytes) -> Verdict:
    """A streamed chat: several frames of `name`, text in them, no error frame, and `[DONE]` at the end."""
    if status != 200:
        return refusal(status, body)
    frames = list(_frames(body))
    if not frames:
        return Verdict(False, f"not a stream: {short(decoded(body))}")
    read = [json_of(frame) for frame in frames if frame != "[DONE]"]
    if wrong := next((words for words in map(error, read) if words), ""):
        return Verdict(False, f"the stream holds an error: {short(wrong)}")
    if frames[-1] != "[DONE]":
        return Verdict(False, "the stream broke off: no [DONE] at its end")
    return _streamed(name, read)


def _streamed(name: str, frames: Sequence[Any]) -> Verdict:
    if any(not isinstance(frame, dict) for frame in frames):
        return Verdict(False, "a frame of the stream is not a JSON object")
    others = [frame.get("model") for frame in frames if frame.get("model") != name]
    if others:
        return Verdict(False, f"{short(others[0])} answers to the name {name}")
    text = "".join(map(_piece, frames))
    if len(frames) < 2 or not text:
        return Verdict(False, f"{len(frames)} frames, and {len(text)} characters in them")
    return Verdict(True, f"{len(frames)} frames: {short(text)}", text)


def _piece(frame: dict[str, Any]) -> str:
    choice = dig(frame, "choices", 0)
    delta = dig(choice, "delta") or choice  # a completion's text stands in the choice itself
    return first_text(delta, "content", "reasoning_content", "reasoning", "text") if isinstance(delta, dict) else ""


def _frames(body: bytes) -> Iterator[str]:
    for line in decoded(body).split("\n"):
        if line.startswith("data:"):
            yield line.removeprefix("data:").strip()


@of_json
def judge_embeddings(answer: dict[str, Any], asked: int) -> Verdict:
    """/v1/embeddings of `asked` different texts: as many vectors of one length, finite, not zero, not equal."""
    data = answer.get("data")
    if not isinstance(data, list) or len(data) != asked:
        return Verdict(False, f"not one vector for each of {asked} texts")
    vectors = [dig(each, "embedding") for each in data]
    if wrong := next((words for words in map(_wrong_vector, vectors) if words), ""):
        return Verdict(False, wrong)
    if len({len(vector) for vector in vectors}) > 1:
        return Verdict(False, "vectors of different lengths")
    if any(vectors[0] == vector for vector in vectors[1:]):
        return Verdict(False, "different texts have the same vector")
    return Verdict(True, f"{len(vectors[0])} dimensions", repr(vectors))


def _wrong_vector(vector: object) -> str:
    if not isinstance(vector, list) or not vector or not all(_is_number(x) for x in vector):
        return "a vector is not a list of numbers"
    if not all(isfinite(x) for x in vector):
        return "a vector holds NaN or infinity"
    return "" if any(vector) else "a vector is zero"


def _is_number(value: object) -> bool:
    return (isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 10**300) or value != value


@of_json
def judge_scores(answer: dict[str, Any], asked: int) -> Verdict:
    """/rerank of `asked` documents: a finite score for each."""
    results = answer.get("results")
    scores = [dig(each, "relevance_score") for each in results] if isinstance(results, list) else []
    if len(scores) != asked or not all(_is_number(score) and isfinite(score) for score in scores):
        return Verdict(False, f"not one score for each of {asked} documents")
    return Verdict(True, f"scores {', '.join(f'{score:.3g}' for score in scores)}")


@of_json
def judge_classes(answer: dict[str, Any]) -> Verdict:
    """/classify: probabilities of the classes, finite."""
    chances = dig(answer, "data", 0, "probs")
    if wrong := _wrong_vector(chances):
        return Verdict(False, wrong.replace("a vector", "the list of probabilities"))
    return Verdict(True, f"{len(chances)} classes")


def judge_unknown(status: int, body: bytes) -> Verdict:
    """An undeclared name must be 404: anything else means that some model answers for others."""
    return _refused((404,), "instead of 404", status, body)


def judge_locked(status: int, body: bytes) -> Verdict:
    """Without the key nothing may be answered."""
    return _refused((401, 403), "without the key", status, body)


def _refused(right: Collection[int], wrong: str, status: int, body: bytes) -> Verdict:
    found = refusal(status, body)
    return Verdict(True, str(status)) if status in right else replace(found, detail=f"{found.detail}, {wrong}")


def judge_models(names: Collection[str], status: int, body: bytes) -> Verdict:
    """/v1/models lists exactly `names`."""
    if status != 200:
        return refusal(status, body)
    found = listed(status, body)
    if not found:
        return Verdict(False, f"no list of models: {short(decoded(body))}", may_pass=True)
    missing, strange = ", ".join(sorted(set(names) - found)), short(", ".join(sorted(found - set(names))))
    if missing or strange:
        parts = (f"{missing} missing" if missing else "", f"{strange} not declared" if strange else "")
        return Verdict(False, "; ".join(filter(None, parts)), may_pass=True)
    return Verdict(True, f"{len(found)} names")


def listed(status: int, body: bytes) -> set[str]:
    """The names in an answer of /v1/models; none where there are none."""
    data = dig(json_of(decoded(body)), "data") if status == 200 else None
    names = [dig(each, "id") for each in data] if isinstance(data, list) else []
    return {name for name in names if isinstance(name, str)}


def refusal(status: int, body: bytes) -> Verdict:
    """The verdict on any status but 200."""
    said = error(json_of(decoded(body))) or decoded(body)
    if status == TIMED_OUT:
        return Verdict(False, short(said), silent=True)
    head = f"HTTP {status}" if status else "no answer"
    return Verdict(False, f"{head}: {short(said)}", may_pass=status in MAY_PASS or UNREACHED in body)


def error(answer: object) -> str:
    """The error in an answer, whatever its status; "" without one."""
    found = dig(answer, "error")
    return str(dig(found, "message") or found) if found else ""


def decoded(body: bytes) -> str:
    """Text, whatever the bytes."""
    return body.decode("utf-8", "replace")


def json_of(text: str) -> Any:
    """None for what is no JSON: `null` is no answer either."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def dig(value: Any, *path: str | int) -> Any:
    """What lies at `path`, None when it is not there."""
    for step in path:
        if isinstance(step, int) and isinstance(value, list) and len(value) > step:
            value = value[step]
        elif isinstance(step, str) and isinstance(value, dict):
            value = value.get(step)
        else:
            return None
    return value


def first_text(message: Mapping[str, Any], *keys: str) -> str:
    """The first of `keys` that holds text, "" when none does."""
    return next((message[key] for key in keys if isinstance(message.get(key), str) and message[key]), "")


def short(value: object) -> str:
    """On one line, harmless in a terminal, and not too long."""
    text = printable(" ".join(str(value).split()))
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"
