"""Every name's questions, one after another, and the results.

A worker that hangs answers nothing, and its /health is 200 all the same. So a name that left one question unanswered
for as long as an answer may take is not asked the next one, nor is another name of the same worker; and a worker of
which Docker knows that it does not serve is not asked at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

from kit.errors import Problem
from kit.stack.model import Probe
from kit.verify import client as questions
from kit.verify import tool_calls
from kit.verify.client import VerifyClient
from kit.verify.responses import Verdict

QUESTIONS: Mapping[str, tuple[tuple[str, Callable[[VerifyClient, str], Verdict]], ...]] = {
    "generate": (("answers a token", questions.token), ("streams", questions.stream)),
    "embed": (("gives vectors", questions.vectors),),
    "rerank": (("ranks documents", questions.scores),),
    "classify": (("classifies", questions.classes),),
    "infer": (("gives tensors", questions.tensors),),
}
TOOL_QUESTIONS = (("calls a tool", tool_calls.required_tool), ("takes tools", tool_calls.tools_taken))
SILENT = "it hangs, or has a long queue: `monogpu-kit status` shows which, `docker compose restart {}` restarts it"


@dataclass(frozen=True)
class Check:
    """One question: `name` is who was asked (a model's name, /v1/models, ...), `what` must be so, `ok` whether it is,
    `detail` the answer in words, `seconds` how long it took."""

    name: str
    what: str
    ok: bool
    detail: str
    seconds: float


@dataclass(frozen=True)
class Verification:
    """Everything that was asked at `url`; `left_out` says what could not be asked from here, and why."""

    url: str
    checks: tuple[Check, ...]
    left_out: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether every check is."""
        return all(check.ok for check in self.checks)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What is wrong, for a VerificationError."""
        return tuple(Problem(f"{check.name}: {check.what}", check.detail) for check in self.checks if not check.ok)

    def as_json(self) -> dict[str, Any]:
        """The report for programs."""
        checks = [{**asdict(check), "seconds": round(check.seconds, 3)} for check in self.checks]
        return {"ok": self.ok, "url": self.url, "checks": checks, "left_out": list(self.left_out)}


def checks_of(client: VerifyClient, probes: tuple[Probe, ...], down: Mapping[str, str]) -> Iterator[Check]:
    """`down` maps workers that cannot serve now to why."""
    silent = dict(down)
    names = {probe.name for probe in probes if probe.task != "infer"}
    yield check(client, "/v1/models", "lists the declared names", lambda: questions.models(client, names))
    for probe in probes:
        yield from _of_one(client, probe, silent)
    yield check(client, questions.MADE_UP, "is unknown", lambda: questions.unknown(client))
    if client.key and names:
        yield check(client, "without the key", "nothing is answered", lambda: questions.locked(client, min(names)))
    if ranked := [probe.name for probe in probes if probe.task in ("rerank", "classify")]:
        # What stands in front of the router has a list of names and a lock of its own.
        yield check(client, questions.MADE_UP, "ranks nothing", lambda: questions.unranked(client))
        if client.key:
            ask = partial(questions.locked_ranking, client, ranked[0])
            yield check(client, "without the key", "nothing is ranked", ask)
    yield from _adapters(client, probes, silent)


def check(client: VerifyClient, name: str, what: str, question: Callable[[], Verdict]) -> Check:
    """One question, asked until it is answered well or for good."""
    return _timed(client, name, what, question)[0]


def _timed(client: VerifyClient, name: str, what: str, question: Callable[[], Verdict]) -> tuple[Check, Verdict]:
    began = client.clock.now()
    verdict = client.settle(question)
    return Check(name, what, verdict.ok, verdict.detail, client.clock.now() - began), verdict


def _of_one(client: VerifyClient, probe: Probe, silent: dict[str, str]) -> Iterator[Check]:
    """A worker that does not answer is added to `silent`."""
    for what, question in (*QUESTIONS.get(probe.task, ()), *(TOOL_QUESTIONS if probe.tools else ())):
        if why := silent.get(probe.service):
            yield Check(probe.name, what, False, why, 0.0)
            continue
        found, verdict = _timed(client, probe.name, what, partial(question, client, probe.name))
        if verdict.silent:
            silent[probe.service] = f"not asked, as {probe.name} gave no answer before"
            found = replace(found, detail=f"{found.detail}: {SILENT.format(probe.service)}")
        yield found


def _adapters(client: VerifyClient, probes: Iterable[Probe], silent: Mapping[str, str]) -> Iterator[Check]:
    for base in dict.fromkeys(probe.base for probe in probes if probe.base):
        family = [probe for probe in probes if base in (probe.name, probe.base)]
        began = client.clock.now()
        answers = {p.name: [] if p.service in silent else questions.several(client, p.name, p.task) for p in family}
        seconds = (client.clock.now() - began) / len(family)
        for probe in (probe for probe in family if probe.base):
            verdict = judge_adapter(probe.name, answers)
            what = f"differs from {base} and its other adapters"
            yield Check(probe.name, what, verdict.ok, verdict.detail, seconds)


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
