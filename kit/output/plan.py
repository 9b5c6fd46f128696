"""The bill for people: the card as one bar, a row a worker, then every line with its reason."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kit.memory.bill import Plan, Share
from kit.units import GIB, size

if TYPE_CHECKING:
    from rich.console import RenderableType

COLOURS = ("cyan", "magenta", "green", "yellow", "blue", "red")
FILLS = "█▓▒░"


def bill(plan: Plan, width: int, short: bool = False) -> Iterator[RenderableType]:
    """What `plan` prints, as rich renderables for a terminal of `width` columns."""
    yield _headline(plan)
    yield _bar(plan, width)
    yield _summary(plan)
    yield from _remarks(plan)
    if not short:
        yield _details(plan)


def _headline(plan: Plan) -> RenderableType:
    from rich.text import Text

    gpu = plan.gpu
    taken = plan.usable_bytes - plan.spare_bytes
    text = Text(f"{plan.manifest.name} on {gpu.name}", style="bold")
    text.append(f"  ({gpu.origin})\n" if gpu.origin else "\n", style="not bold dim")
    text.append(
        f"{size(gpu.total_bytes)} in all, {size(plan.usable_bytes)} usable, {size(taken)} planned, "
        f"{size(plan.spare_bytes)} spare",
        style="not bold",
    )
    return text


def _bar(plan: Plan, width: int) -> RenderableType:
    """The whole card, one character a part: what is reserved, each worker, what is spare."""
    from rich.text import Text

    room = max(min(width, 100) - 2, 20)
    parts = [("reserved", sum(line.bytes for line in plan.reserved), "dim", "╳")]
    for n, share in enumerate(plan.shares):
        parts.append((share.service, share.total_bytes, COLOURS[n % len(COLOURS)], FILLS[n % len(FILLS)]))
    parts.append(("spare", plan.spare_bytes, "dim", "·"))
    text, key = Text("▕"), Text(" ")
    done = drawn = 0
    for name, count, colour, fill in parts:
        done += count
        until = round(done * room / plan.gpu.total_bytes)
        text.append(fill * (until - drawn), style=colour)
        drawn = until
        key.append(f"{fill} {name}  ", style=colour)
    return text.append("▏\n").append(key)


def _summary(plan: Plan) -> RenderableType:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE, pad_edge=False)
    table.add_column("model", no_wrap=True)
    for name in ("weights", "other", "kv cache", "total"):
        table.add_column(name, justify="right", no_wrap=True)
    for name in ("kv tokens", "context", "at once", "graphs"):
        table.add_column(name, justify="right")
    for share in plan.shares:
        table.add_row(*_row(share))
    table.add_section()
    totals = [_in(plan, "weights"), _other(plan), _in(plan, "kv cache"), sum(s.total_bytes for s in plan.shares)]
    table.add_row("all", *(_gib(total) for total in totals), "", "", "", "")
    return table


def _row(share: Share) -> tuple[str, ...]:
    context = f"{share.context:,}" if share.context else ""
    if share.facts is None:  # it divides its memory by its own rules
        return (share.service, "", "", "", _gib(share.total_bytes), "", context, f"{share.requests}", "")
    weights, kv = _of(share, "weights"), _of(share, "kv cache")
    at_once = (
        f"{min(share.concurrency, share.requests):.1f} of {share.requests}" if share.kv_tokens else f"{share.requests}"
    )
    graphs = f"up to {share.capture_sizes[-1]}" if share.capture_sizes else "off"
    return (
        share.service,
        _gib(weights),
        _gib(share.total_bytes - weights - kv),
        _gib(kv),
        _gib(share.total_bytes),
        f"{share.kv_tokens:,}" if share.kv_tokens else "none",
        context,
        at_once,
        graphs,
    )


def _details(plan: Plan) -> RenderableType:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(style="dim")
    what = "gpu.memory" if plan.gpu.kind == "host" else "what the driver lets programs use"
    table.add_row(plan.gpu.name, size(plan.gpu.total_bytes), plan.gpu.origin or what, style="bold")
    for line in plan.reserved:
        table.add_row(f"  {line.what}", f"-{size(line.bytes)}", line.why)
    for share in plan.shares:
        table.add_section()
        table.add_row(share.service, size(share.total_bytes), share.model.source, style="bold")
        for line in share.lines:
            table.add_row(f"  {line.what}", size(line.bytes), line.why)
    return table


def _remarks(plan: Plan) -> Iterator[RenderableType]:
    from rich.text import Text

    for share in plan.shares:
        for said in share.gave_up:
            yield Text(f"{share.service} gave up: {said}", style="yellow")
    for note in plan.notes:
        assumed = note in plan.gpu.assumed
        yield Text(f"{'assumed' if assumed else 'note'}: {note}", style="yellow" if assumed else "cyan")


def _of(share: Share, what: str) -> int:
    return sum(line.bytes for line in share.lines if line.what == what)


def _in(plan: Plan, what: str) -> int:
    return sum(_of(share, what) for share in plan.shares)


def _other(plan: Plan) -> int:
    return sum(s.total_bytes for s in plan.shares) - _in(plan, "weights") - _in(plan, "kv cache")


def _gib(count: int) -> str:
    return f"{count / GIB:.2f} GiB"
