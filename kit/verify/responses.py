"""Whether an HTTP answer is what a model's name promises. Pure: status and body in, verdict out; nothing raises.

A 200 proves little: routers send HTML, engines send nulls, streams break off with an error frame after a good start. So
each answer is taken apart down to the token, and the first thing that is wrong is said in words.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any

from kit.verify.answers import decoded, dig, error, first_text, json_of, short

NO_ANSWER = 0  # the status where nobody answered; the body says why
TIMED_OUT = -1  # the same, where somebody took the request and was silent
MAY_PASS = (NO_ANSWER, 404, 408, 429, 502, 503, 504)  # what a router says while a worker is not there yet
UNREACHED = (
    b"call_upstream"  # SMG's error codes for a worker that it did not reach; a 500 of the worker itself stays one
)


@dataclass(frozen=True)
class Verdict:
    """`detail` says what was answered, or what is wrong with it; `text` is what a model generated; `may_pass` that the
    same question may be answered a moment later; `silent` that the request was taken and not answered in time."""

    ok: bool
    detail: str
    text: str = ""
    may_pass: bool = False
    silent: bool = False


def judge_chat(name: str, status: int, body: bytes) -> Verdict:
    """/v1/chat/completions: a message with at least one token of content or of reasoning, from `name`."""
    answer = _read(name, status, body)
    if isinstance(answer, Verdict):
        return answer
    message = dig(answer, "choices", 0, "message")
    if not isinstance(message, dict):
        return Verdict(False, "no message in the answer")
    return _said(first_text(message, "content", "reasoning_content", "reasoning"))


def judge_completion(name: str, status: int, body: bytes) -> Verdict:
    """/v1/completions: at least one token, from `name`."""
    answer = _read(name, status, body)
    return answer if isinstance(answer, Verdict) else _said(dig(answer, "choices", 0, "text"))


def _said(text: object) -> Verdict:
    if not isinstance(text, str) or not text:
        return Verdict(False, "an answer without a single token")
    return Verdict(True, short(text), text)


def judge_stream(name: str, status: int, body: bytes) -> Verdict:
    """A streamed chat: several frames of `name`, text in them, no error frame, and `[DONE]` at the end."""
    if status != 200:
        return _refusal(status, body)
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


def judge_embeddings(name: str, status: int, body: bytes, asked: int) -> Verdict:
    """/v1/embeddings of `asked` different texts: as many vectors of one length, finite, not zero, not equal."""
    answer = _read(name, status, body)
    if isinstance(answer, Verdict):
        return answer
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


def judge_scores(name: str, status: int, body: bytes, asked: int) -> Verdict:
    """/rerank of `asked` documents: a finite score for each."""
    answer = _read(name, status, body)
    if isinstance(answer, Verdict):
        return answer
    results = answer.get("results")
    scores = [dig(each, "relevance_score") for each in results] if isinstance(results, list) else []
    if len(scores) != asked or not all(_is_number(score) and isfinite(score) for score in scores):
        return Verdict(False, f"not one score for each of {asked} documents")
    return Verdict(True, f"scores {', '.join(f'{score:.3g}' for score in scores)}")


def judge_classes(name: str, status: int, body: bytes) -> Verdict:
    """/classify: probabilities of the classes, finite."""
    answer = _read(name, status, body)
    if isinstance(answer, Verdict):
        return answer
    chances = dig(answer, "data", 0, "probs")
    if wrong := _wrong_vector(chances):
        return Verdict(False, wrong.replace("a vector", "the list of probabilities"))
    return Verdict(True, f"{len(chances)} classes")


def judge_unknown(status: int, body: bytes) -> Verdict:
    """A name that nobody declared must be 404: anything else means that some model answers for others."""
    if status == 404:
        return Verdict(True, "404")
    return replace(_refusal(status, body), detail=f"{_refusal(status, body).detail}, instead of 404")


def judge_locked(status: int, body: bytes) -> Verdict:
    """Without the key nothing may be answered."""
    if status in (401, 403):
        return Verdict(True, str(status))
    return replace(_refusal(status, body), detail=f"{_refusal(status, body).detail}, without the key")


def judge_models(names: Collection[str], status: int, body: bytes) -> Verdict:
    """/v1/models lists exactly `names`."""
    if status != 200:
        return _refusal(status, body)
    found = listed(status, body)
    if not found:
        return Verdict(False, f"no list of models: {short(decoded(body))}", may_pass=True)
    missing, strange = sorted(set(names) - found), sorted(found - set(names))
    if missing or strange:
        words = [f"{', '.join(missing)} missing"] if missing else []
        words += [f"{short(', '.join(strange))} not declared"] if strange else []
        return Verdict(False, "; ".join(words), may_pass=True)
    return Verdict(True, f"{len(found)} names")


def listed(status: int, body: bytes) -> set[str]:
    """The names in an answer of /v1/models; none where there are none."""
    data = dig(json_of(decoded(body)), "data") if status == 200 else None
    names = [dig(each, "id") for each in data] if isinstance(data, list) else []
    return {name for name in names if isinstance(name, str)}


def judge_adapter(name: str, answers: Mapping[str, Sequence[str]]) -> Verdict:
    """An adapter must change something: `answers` has what each name of one worker answers to the same prompts."""
    silent = [each for each, said in answers.items() if not said]
    if silent:
        return Verdict(False, f"{', '.join(silent)} gave no answers to compare")
    mine = list(answers[name])
    others = [each for each in answers if each != name]
    if twins := [each for each in others if list(answers[each]) == mine]:
        return Verdict(False, f"answers all {len(mine)} prompts exactly as {', '.join(twins)}")
    return Verdict(True, f"differs from {', '.join(others)}")


def lacks_chat_template(status: int, body: bytes) -> bool:
    """Whether a chat was refused because the model has no chat template: such a model is asked for a completion."""
    return status == 400 and "chat template" in decoded(body)


def _read(name: str, status: int, body: bytes) -> dict[str, Any] | Verdict:
    """The JSON object of a good answer by `name`, or what is wrong with it."""
    if status != 200:
        return _refusal(status, body)
    answer = json_of(decoded(body))
    if not isinstance(answer, dict):
        return Verdict(False, f"not a JSON object: {short(decoded(body))}")
    if wrong := error(answer):
        return Verdict(False, f"an error with HTTP 200: {short(wrong)}")
    if answer.get("model") != name:
        return Verdict(False, f"{short(answer.get('model'))} answers to the name {name}")
    return answer


def _refusal(status: int, body: bytes) -> Verdict:
    said = dig(json_of(decoded(body)), "error", "message") or decoded(body)
    if status == TIMED_OUT:
        return Verdict(False, short(said), silent=True)
    head = f"HTTP {status}" if status else "no answer"
    return Verdict(False, f"{head}: {short(said)}", may_pass=status in MAY_PASS or UNREACHED in body)
