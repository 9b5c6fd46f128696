"""A protocol as text: what would run, on what, with which load, and what would be compared."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import wrap
from typing import Any

from kit.bench.design import (
    AS_GIVEN,
    Protocol,
    StackVariant,
    View,
    schedule,
)
from kit.bench.load import LoadSpec
from kit.errors import KeyPath, dotted
from kit.manifest.model import Manifest


def printed(protocol: Protocol, given: Manifest) -> str:
    return "\n".join([*_lines(protocol, given), ""])


def _lines(protocol: Protocol, given: Manifest) -> Iterator[str]:
    yield f"{protocol.name}: {protocol.question}"
    yield f"varies: {protocol.varies}"
    yield from (f"constant: {one}" for one in protocol.constant)
    yield from (f"remark: {one}" for one in protocol.remarks)
    for variant in dict.fromkeys(trial.variant.key for trial in protocol.trials):
        yield from ("", f"stack: {variant}")
        yield from _variant(next(t.variant for t in protocol.trials if t.variant.key == variant), given)
        for trial in (trial for trial in protocol.trials if trial.variant.key == variant):
            seconds = f"{trial.seconds:g} s" if trial.seconds else "as often as said"
            yield f"  trial {trial.key}: {seconds}{f', like the others of {trial.group!r}' * bool(trial.group)}"
            yield from (f"    {_load(load)}" for load in trial.loads)
    for view in protocol.views:
        yield from ("", *_view(view))
    keys = [step.key.removeprefix(f"{protocol.name}.") for step in schedule(protocol)]
    yield from ("", f"{len(keys)} runs:", *wrap("; ".join(keys), 110, break_on_hyphens=False))


def _variant(variant: StackVariant, given: Manifest) -> Iterator[str]:
    """What differs from the manifest."""
    if variant.key == AS_GIVEN:
        assert variant.manifest == given
    for path, before, after in _changes(_named(given), _named(variant.manifest), ()):
        yield f"  {dotted(path)}: {after} (was {before})"
    yield from ("  recreated and timed",) * variant.recreate
    yield from ("  without compile caches",) * variant.cold


def _named(manifest: Manifest) -> dict[str, Any]:
    """The manifest's words, its models by their names."""
    return {**manifest.model_dump(), "models": {model.name: model.model_dump() for model in manifest.models}}


def _changes(one: Any, other: Any, path: KeyPath) -> Iterator[tuple[KeyPath, Any, Any]]:
    if one == other:
        return
    if not (isinstance(one, dict) and isinstance(other, dict)):
        yield path, one, other
        return
    if one.keys() != other.keys():
        yield path, ", ".join(one), ", ".join(other)
    for key in sorted(one.keys() & other.keys()):
        yield from _changes(one[key], other[key], (*path, key))


def _load(load: LoadSpec) -> str:
    said = (
        f"{load.name}: {load.prompts}; {load.concurrency} at once, {'through the router' * (load.target == 'router')}"
    )
    said += f"straight to {load.service}" * (load.target == "worker")
    said += f", {load.count} requests" * bool(load.count)
    said += f", {load.rate or 0:g} a second" * bool(load.rate)
    return said + f", good: {' '.join(load.goodput)}" * bool(load.goodput)


def _view(view: View) -> Iterator[str]:
    yield f"{view.kind} {view.name!r}: {view.value.figure} of {view.value.model or 'all'} in {view.unit}"
    yield f"  {view.condition}; {view.better} is better{f'; axis: {view.axis}' * bool(view.axis)}"
    yield from (f"  {name}: {trial}{f' at {x:g}' if x is not None else ''}" for name, trial, x in view.arms)
