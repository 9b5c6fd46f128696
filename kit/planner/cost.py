"""What a manifest's names cost by the hour: a card each, cards shared, one base with adapters. Pure.

Every row is planned, not guessed: its cards are those on which the planner finds room. Models are put on cards the
largest first, each on the first card where it fits beside the others, so a row may need a card less than is found.
Replicas are copies that somebody wanted: where every model has a card of its own, so has each of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from kit.manifest.model import Manifest, Model
from kit.memory.lora import DEFAULT_RANK
from kit.planner.alternatives import Swap, families, fold_all, swaps
from kit.planner.plan import Solution, solve
from kit.planner.workers import PlanInput

HOURS = 730  # in a month: 365 x 24 / 12


@dataclass(frozen=True)
class ServingOption:
    """One way to serve the names on `cards` cards of `card_bytes`; `bytes` is what their workers need at least. None
    for cards when some model fits on none; `note` says what else is to be known."""

    name: str
    cards: int | None
    bytes: int
    card_bytes: int
    note: str = ""

    def per_hour(self, price: float) -> float | None:
        """`price` is one card's."""
        return None if self.cards is None else self.cards * price

    @property
    def part(self) -> float | None:
        """How much of the cards the workers need."""
        return self.bytes / (self.cards * self.card_bytes) if self.cards else None


@dataclass(frozen=True)
class Cost:
    """The table for people who pay `price` for a card and hour; a model alone has nothing to be swapped for."""

    price: float
    names: tuple[str, ...]
    setups: tuple[ServingOption, ...]
    swaps: tuple[Swap, ...]


def cost(asked: PlanInput, price: float) -> Cost:
    """All rows for `asked`. Raises what `solve` raises."""
    whole = replace(asked, manifest=unfolded(asked.manifest))
    names = tuple(model.name for model in whole.manifest.models)
    return Cost(price, names, tuple(_setups(asked, whole)), swaps(asked) if len(asked.manifest.models) > 1 else ())


def unfolded(manifest: Manifest) -> Manifest:
    """The manifest with every adapter merged into a model of its own: its base's shapes under its own name."""
    names = ((model, name) for model in manifest.models for name in (model.name, *(a.name for a in model.adapters)))
    models = tuple(model.model_copy(update={"name": name, "adapters": ()}) for model, name in names)
    return manifest.model_copy(update={"models": models})


def _setups(asked: PlanInput, whole: PlanInput) -> Iterable[ServingOption]:
    yield _each(whole)
    yield _shared("cards shared", whole, "")
    if any(model.adapters for model in asked.manifest.models):
        yield _shared("one base, adapters", asked, "")
    elif families(asked):
        note = f"if they are fine-tunes of one base, as LoRA adapters of rank {DEFAULT_RANK}"
        yield _shared("one base, adapters", fold_all(asked), note)


def _each(asked: PlanInput) -> ServingOption:
    """A card for every worker."""
    alone = [(model, solve(_only(asked, (_one(model),)))) for model in asked.manifest.models]
    needs = sum(_need(solution) * model.replicas for model, solution in alone)
    too_large = [model.name for model, solution in alone if not solution.fits]
    cards = None if too_large else sum(model.replicas for model in asked.manifest.models)
    note = f"{', '.join(too_large)}: too large for the card" if too_large else ""
    return ServingOption("a card each", cards, needs, asked.gpu.total_bytes, note)


def _shared(name: str, asked: PlanInput, note: str) -> ServingOption:
    cards = packed(asked)
    needs = sum(_need(solve(_only(asked, (model,)))) for model in asked.manifest.models)
    return ServingOption(
        name, len(cards) if cards else None, needs, asked.gpu.total_bytes, note if cards else "does not fit"
    )


def packed(asked: PlanInput) -> tuple[tuple[str, ...], ...]:
    """The names on each card; () when some model fits on none."""
    needs = {model.name: _need(solve(_only(asked, (model,)))) for model in asked.manifest.models}
    cards: list[tuple[Model, ...]] = []
    for model in sorted(asked.manifest.models, key=lambda model: (-needs[model.name], model.name)):
        place = next((n for n, card in enumerate(cards) if solve(_only(asked, (*card, model))).fits), None)
        if place is not None:
            cards[place] = (*cards[place], model)
        elif solve(_only(asked, (model,))).fits:
            cards.append((model,))
        else:
            return ()
    return tuple(tuple(model.name for model in card) for card in cards)


def _only(asked: PlanInput, models: tuple[Model, ...]) -> PlanInput:
    return replace(asked, manifest=asked.manifest.model_copy(update={"models": models}))


def _one(model: Model) -> Model:
    return model.model_copy(update={"replicas": 1})


def _need(solution: Solution) -> int:
    return sum(solution.candidate(number).need for number in range(len(solution.workers)))
