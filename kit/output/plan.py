"""The bill for people: the card as one bar, a row for each worker, then every line with its reason."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from kit.memory.bill import Plan, Share
from kit.units import gib, size

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table
    from rich.text import Text

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


def _headline(plan: Plan) -> Text:
    from rich.text import Text

    gpu = plan.gpu
    text = Text(f"{plan.manifest.name} on {gpu.name}", style="bold")
    text.append(f"  ({gpu.origin})\n" if gpu.origin else "\n", style="not bold dim")
    return text.append(
        f"{size(gpu.total_bytes)} in all, {size(plan.usable_bytes)} usable, "
        f"{size(plan.usable_bytes - plan.spare_bytes)} planned, {size(plan.spare_bytes)} spare",
        style="not bold",
    )


def _bar(plan: Plan, width: int) -> Text:
    """The whole card, one character a part: what is reserved, each worker, what is spare."""
    from rich.text import Text

    room = max(min(width, 100) - 2, 20)
    workers = [
        (share.service, share.total_bytes, COLOURS[n % len(COLOURS)], FILLS[n % len(FILLS)])
        for n, share in enumerate(plan.shares)
    ]
    reserved = sum(line.bytes for line in plan.reserved)
    text, key = Text("▕"), Text(" ")
    done = drawn = 0
    for name, count, colour, fill in (
        ("reserved", reserved, "dim", "╳"), *workers, ("spare", plan.spare_bytes, "dim", "·"),
    ):  # fmt: skip
        done += count
        until = round(done * room / plan.gpu.total_bytes)
        text.append(fill * (until - drawn), style=colour)
        drawn = until
        key.append(f"{fill} {name}  ", style=colour)
    return text.append("▏\n").append(key)


def table(left: str, right: Sequence[str], more: Sequence[dict[str, Any]] = (), **options: Any) -> Table:
    """A table of names, and of numbers to the right of them; `more` are further columns and `options` those of rich."""
    from rich.box import SIMPLE
    from rich.table import Column, Table

    numbers = (Column(name, justify="right", no_wrap=True) for name in right)
    columns = (Column(left, no_wrap=True), *numbers, *(Column(**column) for column in more))
    return Table(*columns, box=SIMPLE, pad_edge=False, **options)


def _summary(plan: Plan) -> Table:
    more = [{"header": name, "justify": "right"} for name in ("kv tokens", "context", "at once", "graphs")]
    shown = table("model", ("weights", "other", "kv cache", "total"), more)
    for share in plan.shares:
        shown.add_row(*_row(share))
    shown.add_section()
    shown.add_row("all", *_sizes(*plan.shares))
    return shown


def _sizes(*shares: Share) -> Iterator[str]:
    """Weights, the rest without the KV cache, the KV cache and the total."""
    weights, kv = (sum(share.bytes_of(kind) for share in shares) for kind in ("weights", "kv_cache"))
    total = sum(share.total_bytes for share in shares)
    return map(gib, (weights, total - weights - kv, kv, total))


def _row(share: Share) -> tuple[str, ...]:
    context, requests = f"{share.context:,}" if share.context else "", f"{share.requests}"
    if share.facts is None:  # it divides its memory by its own rules
        return (share.service, "", "", "", gib(share.total_bytes), "", context, requests, "")
    return (
        share.service,
        *_sizes(share),
        f"{share.kv_tokens:,}" if share.kv_tokens else "none",
        context,
        f"{min(share.concurrency, share.requests):.1f} of {requests}" if share.kv_tokens else requests,
        f"up to {share.capture_sizes[-1]}" if share.capture_sizes else "off",
    )


def _details(plan: Plan) -> Table:
    shown = table("", [""], [{"style": "dim"}], show_header=False)
    origin = "gpu.memory" if plan.gpu.kind == "host" else "what the driver lets programs use"
    shown.add_row(plan.gpu.name, size(plan.gpu.total_bytes), plan.gpu.origin or origin, style="bold")
    for line in plan.reserved:
        shown.add_row(f"  {line.label}", f"-{size(line.bytes)}", line.why)
    for share in plan.shares:
        shown.add_section()
        shown.add_row(share.service, size(share.total_bytes), share.model.source, style="bold")
        for line in share.lines:
            shown.add_row(f"  {line.label}", size(line.bytes), line.why)
    return shown


def _remarks(plan: Plan) -> Iterator[Text]:
    from rich.text import Text

    for share in plan.shares:
        yield from (Text(f"{share.service} is degraded: {text}", style="yellow") for text in share.degraded)
    for note in plan.notes:
        assumed = note in plan.gpu.assumed
        yield Text(f"{'assumed' if assumed else 'note'}: {note}", style="yellow" if assumed else "cyan")
