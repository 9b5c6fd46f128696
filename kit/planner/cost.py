"""What a manifest's models cost by the hour: a card each, cards shared, one base with adapters. Pure.

Every row is planned, not guessed: its cards are those on which the planner finds room. Models are put on cards the
largest first, each on the first card where it fits beside the others, so a row may need a card less than is found.
Where every model has a card of its own, so has each of its replicas.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kit.manifest.model import Model
from kit.memory.lora import DEFAULT_RANK
from kit.planner.alternatives import Swap, families, fold_all, swaps
from kit.planner.plan import solve
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


def cost(inputs: PlanInput, price: float) -> Cost:
    """All rows for `inputs`. Raises what `solve` raises."""
    whole = unfolded(inputs)
    names = tuple(model.name for model in whole.manifest.models)
    return Cost(price, names, tuple(_setups(inputs, whole)), swaps(inputs) if len(inputs.manifest.models) > 1 else ())


def unfolded(inputs: PlanInput) -> PlanInput:
    """The manifest with every adapter merged into a model of its own: its base's shapes under its own name."""
    models = inputs.manifest.models
    names = ((model, name) for model in models for name in (model.name, *(a.name for a in model.adapters)))
    return inputs.with_models(model.model_copy(update={"name": name, "adapters": ()}) for model, name in names)


def _setups(inputs: PlanInput, whole: PlanInput) -> Iterable[ServingOption]:
    yield _each(whole)
    yield _shared("cards shared", whole)
    if any(model.adapters for model in inputs.manifest.models):
        yield _shared("one base, adapters", inputs)
    elif families(inputs):
        note = f"if they are fine-tunes of one base, as LoRA adapters of rank {DEFAULT_RANK}"
        yield _shared("one base, adapters", fold_all(inputs), note)


def _each(inputs: PlanInput) -> ServingOption:
    """A card for every worker."""
    models = inputs.manifest.models
    alone = [solve(inputs.with_models([model.model_copy(update={"replicas": 1})])) for model in models]
    needs = sum(solution.need() * model.replicas for model, solution in zip(models, alone, strict=True))
    too_large = [model.name for model, solution in zip(models, alone, strict=True) if not solution.fits]
    cards = None if too_large else sum(model.replicas for model in models)
    note = f"{', '.join(too_large)}: too large for the card" if too_large else ""
    return ServingOption("a card each", cards, needs, inputs.gpu.total_bytes, note)


def _shared(name: str, inputs: PlanInput, note: str = "") -> ServingOption:
    cards, needs = len(packed(inputs)) or None, sum(_needs(inputs).values())
    return ServingOption(name, cards, needs, inputs.gpu.total_bytes, note if cards else "does not fit")


def packed(inputs: PlanInput) -> tuple[tuple[str, ...], ...]:
    """The names on each card; () when some model fits on none."""
    needs = _needs(inputs)
    cards: list[list[Model]] = [[] for _ in inputs.manifest.models]
    for model in sorted(inputs.manifest.models, key=lambda model: (-needs[model.name], model.name)):
        card = next((card for card in cards if solve(inputs.with_models([*card, model])).fits), None)
        if card is None:
            return ()
        card.append(model)
    return tuple(tuple(model.name for model in card) for card in cards if card)


def _needs(inputs: PlanInput) -> dict[str, int]:
    """What the workers of each model need at least."""
    return {model.name: solve(inputs.with_models([model])).need() for model in inputs.manifest.models}
