"""The cost table for people (rich) and for programs (JSON). Prices have the currency that they were given in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from kit.gpu import Gpu
from kit.output.plan import table
from kit.output.plan_json import gpu_json
from kit.planner.cost import HOURS, Cost, ServingOption
from kit.units import size

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table


def cost_json(found: Cost, gpu: Gpu) -> dict[str, Any]:
    """Money by the hour and by the month of 730 hours, sizes in bytes; None for what fits on no card."""
    return {
        "price_per_hour": found.price,
        "hours_per_month": HOURS,
        "gpu": gpu_json(gpu),
        "names": list(found.names),
        "setups": [_setup(setup, found.price) for setup in found.setups],
        "swaps": [
            {
                "name": swap.name,
                "bytes": swap.bytes,
                "part_of_card": round(swap.part, 4),
                "kept_per_hour": round(swap.part * found.price, 4),
                "swap_seconds": round(swap.seconds, 1),
                "cheaper_below_returns_per_hour": round(swap.returns, 1),
            }
            for swap in found.swaps
        ],
    }


def _setup(setup: ServingOption, price: float) -> dict[str, Any]:
    hour = setup.per_hour(price)
    return {
        "name": setup.name,
        "cards": setup.cards,
        "bytes": setup.bytes,
        "card_bytes": setup.card_bytes,
        "per_hour": hour,
        "per_month": None if hour is None else round(hour * HOURS, 2),
        "note": setup.note,
    }


def report(found: Cost, gpu: Gpu) -> Iterator[RenderableType]:
    """What `cost` prints, as rich renderables."""
    from rich.text import Text

    yield Text(f"{', '.join(found.names)} on {gpu.name}, {found.price:,.2f} a card and hour", style="bold")
    yield _setups(found)
    if found.swaps:
        yield Text("kept on the card, or swapped in on request (engine: ollama):")
        yield _swaps(found)
        yield Text(
            "A swap reads the weights at 0.55 GB/s, as was measured with Ollama for models of 5 to 6 GB, and the card "
            "waits. Only your own traffic says how often a model comes back.",
            style="dim",
        )


def _setups(found: Cost) -> Table:
    shown = table("setup", ("cards", "needed of them", "an hour", "a month"), [{}])
    for setup in found.setups:
        hour = setup.per_hour(found.price)
        money = ("-", "-") if hour is None else (f"{hour:,.2f}", f"{hour * HOURS:,.0f}")
        part = f"{size(setup.bytes)}, {setup.part:.0%}" if setup.part is not None else size(setup.bytes)
        shown.add_row(setup.name, "-" if setup.cards is None else str(setup.cards), part, *money, setup.note)
    return shown


def _swaps(found: Cost) -> Table:
    shown = table("model", ("needs", "of the card", "kept, a month", "a swap", "swapped is cheaper below"))
    for swap in found.swaps:
        month = swap.part * found.price * HOURS
        below = f"{swap.returns:,.0f} an hour"
        shown.add_row(swap.name, size(swap.bytes), f"{swap.part:.0%}", f"{month:,.0f}", f"{swap.seconds:.0f} s", below)
    return shown
