"""monogpu.lock.yaml: what `calibrate` measured, and whether it still holds. Pure.

A locked worker is priced by its measurement instead of by formulas. A measurement holds for one card, driver, image and
set of flags; a lock from another is refused, never used a little.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import yaml

from kit.errors import ManifestError, Problem
from kit.gpu import Gpu
from kit.manifest.yaml_document import Document, load
from kit.memory.worker import Measured
from kit.units import gib

HEAD = "# Written by `monogpu-kit calibrate`: what each worker really takes. Remove the file, and `plan` forgets it.\n"
AGAIN = "`monogpu-kit calibrate` measures again; or remove monogpu.lock.yaml"


@dataclass(frozen=True)
class CardIdentity:
    """The card it was measured on."""

    name: str
    uuid: str | None
    total_bytes: int
    driver: str | None
    compute_capability: str | None


@dataclass(frozen=True)
class Locked:
    """One worker, measured alone. `setting` is its candidate in words; `rest_bytes` and `loaded_bytes` are the driver's
    figures for its processes once started and after a burst of load, KV cache included; `kv_driver_bytes` is that
    cache as allocated. What the log did not say is None."""

    image: str
    digest: str | None
    vllm: str | None
    source: str
    revision: str | None
    setting: str
    args: tuple[str, ...]
    adapters: tuple[str, ...]
    kv_driver_bytes: int
    context_bytes: int
    rest_bytes: int
    loaded_bytes: int | None
    kv_tokens: int | None
    weights_gib: float | None
    graphs_gib: float | None

    @property
    def footprint(self) -> int:
        """All but the KV cache, as far as it grew."""
        return max(self.rest_bytes, self.loaded_bytes or 0) - self.kv_driver_bytes


@dataclass(frozen=True)
class Lock:
    """A whole file. `workers` is by service."""

    card: CardIdentity
    workers: Mapping[str, Locked]


def card_of(gpu: Gpu) -> CardIdentity:
    return CardIdentity(gpu.name, gpu.uuid, gpu.total_bytes, gpu.driver, gpu.compute_capability)


def to_text(lock: Lock) -> str:
    """The file's text."""
    workers = {name: _plain(asdict(worker)) for name, worker in lock.workers.items()}
    data = {"card": asdict(lock.card), "workers": workers}
    return HEAD + yaml.safe_dump(data, sort_keys=False, width=100)


def _plain(data: dict[str, Any]) -> dict[str, Any]:
    return {key: list(value) if isinstance(value, tuple) else value for key, value in data.items()}


def from_text(text: str, file: str) -> Lock:
    """The file's text -> Lock. Raises ManifestError at the line that is wrong."""
    document = load(text, file).sound()
    data = document.data
    try:
        card = CardIdentity(**data["card"])
        workers = {name: _locked(entry) for name, entry in data["workers"].items()}
    except (TypeError, KeyError, AttributeError) as error:
        raise ManifestError(_broken(document, error)) from None
    return Lock(card, workers)


def _locked(entry: Mapping[str, Any]) -> Locked:
    worker = Locked(**{**entry, "args": tuple(entry["args"]), "adapters": tuple(entry["adapters"])})
    numbers = (worker.kv_driver_bytes, worker.context_bytes, worker.rest_bytes)
    if not all(isinstance(number, int) and number >= 0 for number in numbers):
        raise TypeError("bytes must be whole numbers")
    return worker


def _broken(document: Document, error: Exception) -> Problem:
    return Problem(f"not a lock that calibrate wrote ({error})", AGAIN, mark=document.mark(()))


@dataclass(frozen=True)
class WorkerIdentity:
    """What a worker will be run as: compared with what was measured."""

    image: str
    source: str
    args: tuple[str, ...]
    adapters: tuple[str, ...]


def measured(lock: Lock, gpu: Gpu, wanted: Mapping[str, WorkerIdentity]) -> dict[str, Measured]:
    """Service -> what the plan may use. Workers that were never measured are left to the formulas. Raises
    ManifestError for a lock of another card or driver, and for a worker measured with another image or flags."""
    problems = list(_other_card(lock.card, gpu))
    for service, want in wanted.items():
        if service in lock.workers:
            problems += _other_worker(service, lock.workers[service], want)
    if problems:
        raise ManifestError(problems)
    known = {service: lock.workers[service] for service in wanted if service in lock.workers}
    return {service: _measured(worker, lock.card) for service, worker in known.items()}


def _measured(worker: Locked, card: CardIdentity) -> Measured:
    engine = f"vLLM {worker.vllm}" if worker.vllm else worker.image
    return Measured(
        setting=worker.setting,
        rest_bytes=worker.footprint,
        context_bytes=min(worker.context_bytes, worker.footprint),
        why=f"measured on {card.name}, {engine}, under load" if worker.loaded_bytes else f"measured on {card.name}",
    )


def _other_card(card: CardIdentity, gpu: Gpu) -> list[Problem]:
    if gpu.kind == "host":
        return [Problem("monogpu.lock.yaml was measured on a card, and this manifest serves on the CPU", AGAIN)]
    if (card.name, card.total_bytes) != (gpu.name, gpu.total_bytes):
        here = f"{gpu.name} with {gib(gpu.total_bytes)}"
        what = (
            f"monogpu.lock.yaml was measured on {card.name} with {gib(card.total_bytes)}, and this plan is for {here}"
        )
        return [Problem(what, AGAIN)]
    if card.driver and gpu.driver and card.driver != gpu.driver:
        return [Problem(f"monogpu.lock.yaml was measured with driver {card.driver}, and this is {gpu.driver}", AGAIN)]
    return []


def _other_worker(service: str, worker: Locked, want: WorkerIdentity) -> list[Problem]:
    found = []
    for word in ("image", "source", "args", "adapters"):
        was, now = getattr(worker, word), getattr(want, word)
        if was != now:
            found.append(
                Problem(f"'{service}' was measured with {word} {_said(was)}, and now says {_said(now)}", AGAIN)
            )
    return found


def _said(value: str | tuple[str, ...]) -> str:
    return value if isinstance(value, str) else " ".join(value) or "none"
