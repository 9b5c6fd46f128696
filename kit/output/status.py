"""The status as lines of text: readable at 80 columns, without colour, and in a log."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from kit.status.model import ServiceReport, Status
from kit.units import GIB, duration, gib

NARROW = 80
BAR = 10
_REST = 2 + 10 + 2 + 8 + 2 + 3 + 2 + 4 + 2 + 4 + 2 + 6 + 2 + BAR + 1 + 11  # every column but the first
_LINE = "{name:<{width}}  {state:<10}  {up:>8}  {run:>3}  {wait:>4}  {kv:>4}  {tokens:>6}  {memory}"


def lines(status: Status, width: int = NARROW) -> Iterator[str]:
    """One screen. No line is longer than `width` (80 at least) but notes, which wrap."""
    yield from _head(status)
    if not status.services:
        yield f"nothing of {status.project} runs; `monogpu-kit up` starts it"
        return
    shown = [each for each in status.services if each.role != "download" or not each.well]
    room = max(width, NARROW) - _REST
    first = min(max(len(name) for name in ("service", *(each.service for each in shown))), room)
    yield ""
    yield _LINE.format(
        name="service", width=first, state="state", up="up", run="run", wait="wait", kv="kv", tokens="tok/s",
        memory="GiB held of the bill",
    )  # fmt: skip
    for each in shown:
        yield _row(each, status.now, first).rstrip()
    notes = [*unbilled(status.not_as_billed), *(note for each in shown for note in _notes(each, status.now))]
    yield from ("", *notes) if notes else ()


def unbilled(changed: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Workers that an override makes other than planned."""
    return tuple(
        f"{name}: another compose file changes {', '.join(keys)}; the bill no longer describes it"
        for name, keys in changed.items()
    )


def _head(status: Status) -> Iterator[str]:
    asked = f"{status.project}   {status.url}/v1" if status.url else status.project
    yield f"{asked}   {_names(status)}" if status.services else asked
    if status.total is None:
        return
    planned = sum(each.planned or 0 for each in status.services)
    free = f", {gib(status.free)} free" if status.free is not None else ""
    yield f"{status.memory}: {gib(status.total)}{free}, {gib(planned)} planned"


def _names(status: Status) -> str:
    """The router's view of the declared names."""
    if status.routed is None:
        return "the router cannot be asked"
    ready = [name for name in status.names if status.routed.get(name) == "ready"]
    away = [f"{name} {status.routed.get(name, 'unknown')}" for name in status.names if name not in ready]
    words = f"{len(ready)} of {len(status.names)} names routed"
    return f"{words}: {', '.join(away)}" if away else words


def _row(one: ServiceReport, now: datetime, width: int) -> str:
    load = one.load
    return _LINE.format(
        name=one.service if len(one.service) <= width else f"{one.service[: width - 1]}…",
        width=width,
        state=one.word[:10],
        up=_since(one.started, now) if one.status == "running" else "",
        run=_known(load.running if load else None),
        wait=_known(load.waiting if load else None),
        kv="" if load is None or load.kv_used is None else f"{load.kv_used:.0%}",
        tokens="" if one.tokens is None else f"{one.tokens:,.1f}" if one.tokens < 1000 else f"{one.tokens:,.0f}",
        memory=_memory(one),
    )


def _known(count: int | None) -> str:
    return "" if count is None else str(count)


def _since(started: datetime | None, now: datetime) -> str:
    if started is None:
        return ""
    seconds = max(int((now - started).total_seconds()), 0)
    days, rest = divmod(seconds, 86400)
    return f"{days}d {rest // 3600:02}h" if days else f"{rest // 3600}:{rest // 60 % 60:02}:{rest % 60:02}"


def _memory(one: ServiceReport) -> str:
    """A bar from nothing to the bill, and both figures. Where the memory in use is unknown, only the bill is shown."""
    if one.planned is None:
        return ""
    if one.held is None:
        return f"{'?' * BAR} {'?':>4}/{one.planned / GIB:.2f}"
    full = min(round(one.held / one.planned * BAR), BAR) if one.planned else BAR
    bar = "█" * full + "░" * (BAR - full)
    return f"{bar}{'!' if one.over else ' '}{one.held / GIB:.2f}/{one.planned / GIB:.2f}"


def _notes(one: ServiceReport, now: datetime) -> Iterator[str]:
    why = f"{one.cause.cause}; {one.cause.fix}" if one.cause else ""
    if not why and one.last and not one.well:
        why = f"its log ends: {one.last}"
    if one.restarts:
        yield f"{_restarted(one, now)}{why and ': '}{why}"
    elif why:
        yield f"{one.service}: {why}"
    if one.loops:
        yield f"{one.service} will not get well by itself; `docker compose stop {one.service}` ends its restarts"
    if one.over:
        yield f"{one.service} holds {gib(one.over)} more than planned; `monogpu-kit calibrate` measures it"


def _restarted(one: ServiceReport, now: datetime) -> str:
    times = "once" if one.restarts == 1 else f"{one.restarts} times"
    since = f" in {_age(one.made, now)}" if one.made else ""
    last = f", the last time {_age(one.started, now)} ago" if one.started and one.restarts > 1 else ""
    return f"{one.service} was restarted {times}{since}{last}"


def _age(since: datetime, now: datetime) -> str:
    return duration(max((now - since).total_seconds(), 0))
