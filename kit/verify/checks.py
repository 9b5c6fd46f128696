"""Every name's questions, one after another.

A worker that hangs answers nothing, and its /health is 200 all the same. So a name that left one question unanswered
for as long as an answer may take is not asked the next one, nor is another name of the same worker; and a worker of
which Docker knows that it does not serve is not asked at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial

from kit.stack.model import Probe
from kit.verify import client, responses
from kit.verify.client import VerifyClient
from kit.verify.responses import Verdict
from kit.verify.results import Check

QUESTIONS: Mapping[str, tuple[tuple[str, Callable[[VerifyClient, str], Verdict]], ...]] = {
    "generate": (("answers a token", client.token), ("streams", client.stream)),
    "embed": (("gives vectors", client.vectors),),
    "rerank": (("ranks documents", client.scores),),
    "classify": (("classifies", client.classes),),
    "infer": (("gives tensors", client.tensors),),
}
SILENT = "it hangs, or has a long queue: `monogpu-kit status` shows which, `docker compose restart {}` starts it anew"


def rounds(asker: VerifyClient, probes: tuple[Probe, ...], ailing: Mapping[str, str]) -> Iterator[Check]:
    """`ailing` maps workers that cannot serve now to why."""
    silent = dict(ailing)
    names = {probe.name for probe in probes if probe.task != "infer"}
    yield check(asker, "/v1/models", "lists the declared names", lambda: client.models(asker, names))
    for probe in probes:
        yield from _of_one(asker, probe, silent)
    yield check(asker, client.MADE_UP, "is unknown", lambda: client.unknown(asker))
    if asker.key and names:
        yield check(asker, "without the key", "nothing is answered", lambda: client.locked(asker, min(names)))
    ranked = [probe.name for probe in probes if probe.task in ("rerank", "classify")]
    if ranked:
        yield from _front(asker, ranked[0])
    yield from _adapters(asker, probes, silent)


def check(asker: VerifyClient, name: str, what: str, question: Callable[[], Verdict]) -> Check:
    """One question, asked until it is answered well or for good."""
    return _timed(asker, name, what, question)[0]


def _of_one(asker: VerifyClient, probe: Probe, silent: dict[str, str]) -> Iterator[Check]:
    """A worker that does not answer is added to `silent`."""
    for what, question in QUESTIONS.get(probe.task, ()):
        if why := silent.get(probe.service):
            yield Check(probe.name, what, False, why, 0.0)
            continue
        found, verdict = _timed(asker, probe.name, what, partial(question, asker, probe.name))
        if verdict.silent:
            silent[probe.service] = f"not asked, as {probe.name} gave no answer before"
            found = Check(probe.name, what, False, f"{verdict.detail}: {SILENT.format(probe.service)}", found.seconds)
        yield found


def _timed(asker: VerifyClient, name: str, what: str, question: Callable[[], Verdict]) -> tuple[Check, Verdict]:
    began = asker.clock.now()
    verdict = asker.settle(question)
    return Check(name, what, verdict.ok, verdict.detail, asker.clock.now() - began), verdict


def _front(asker: VerifyClient, name: str) -> Iterator[Check]:
    """What stands in front of the router has a list of names and a lock of its own."""
    yield check(asker, client.MADE_UP, "ranks nothing", lambda: client.unranked(asker))
    if asker.key:
        yield check(asker, "without the key", "nothing is ranked", lambda: client.locked_ranking(asker, name))


def _adapters(asker: VerifyClient, probes: Iterable[Probe], silent: Mapping[str, str]) -> Iterator[Check]:
    for base in dict.fromkeys(probe.base for probe in probes if probe.base):
        family = [probe for probe in probes if base in (probe.name, probe.base)]
        began = asker.clock.now()
        answers = {p.name: [] if p.service in silent else client.several(asker, p.name, p.task) for p in family}
        seconds = (asker.clock.now() - began) / len(family)
        for probe in family:
            if probe.base:
                verdict = responses.judge_adapter(probe.name, answers)
                what = f"differs from {base} and its other adapters"
                yield Check(probe.name, what, verdict.ok, verdict.detail, seconds)
