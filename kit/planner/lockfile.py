"""monogpu.lock.yaml: what `calibrate` measured, and whether it still holds. Pure.

A locked worker is priced by its measurement instead of by formulas. A measurement holds for one card, driver, image and
set of flags; a lock of another is refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Annotated, Any

import yaml
from pydantic import Field, TypeAdapter

from kit.errors import ManifestError, Problem
from kit.files import parse_versioned, versioned_json
from kit.gpu import Gpu
from kit.manifest.yaml_document import load
from kit.memory.flags import read_flags
from kit.memory.worker import Measured, MeasuredSettings, WorkerSettings, capture_sizes
from kit.units import gib

HEAD = "# Written by `monogpu-kit calibrate`: what each worker really takes. Without this file `plan` uses formulas.\n"
AGAIN = "`monogpu-kit calibrate` measures again; or remove monogpu.lock.yaml"
Bytes = Annotated[int, Field(ge=0)]


@dataclass(frozen=True)
class CardIdentity:
    """The card it was measured on."""

    name: str
    uuid: str | None
    total_bytes: int
    driver: str | None
    compute_capability: str | None


@dataclass(frozen=True)
class WorkerIdentity:
    """What a worker is run as: compared with what was measured."""

    image: str
    source: str
    args: tuple[str, ...]
    adapters: tuple[str, ...]


@dataclass(frozen=True)
class Locked(WorkerIdentity):
    """One worker, measured alone. `rest_bytes` and `loaded_bytes` are the driver's figures for its processes once
    started and after a burst of load, KV cache included; `kv_driver_bytes` is that cache as allocated. What the log did
    not say is None."""

    digest: str | None
    vllm: str | None
    revision: str | None
    settings: MeasuredSettings
    kv_driver_bytes: Bytes
    context_bytes: Bytes
    rest_bytes: Bytes
    loaded_bytes: Bytes | None
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


_FILE = TypeAdapter(Lock)
# How a lock without a version kept a worker's settings.
_NUMBER = r"([0-9]{1,9})"
_SENTENCE = re.compile(
    rf"{_NUMBER} requests of {_NUMBER} tokens, (?:{_NUMBER} graphs for batches of up to {_NUMBER}|no graphs)"
)


def card_of(gpu: Gpu) -> CardIdentity:
    return CardIdentity(gpu.name, gpu.uuid, gpu.total_bytes, gpu.driver, gpu.compute_capability)


def to_text(lock: Lock) -> str:
    """The file's text."""
    return HEAD + yaml.safe_dump(json.loads(versioned_json(_FILE, lock)), sort_keys=False, width=100)


def from_text(text: str, file: str) -> Lock:
    """The file's text -> Lock. Raises ManifestError at the lines that are wrong."""
    document = load(text, file).sound()
    data = document.data
    if isinstance(data, dict) and isinstance(data.get("workers"), dict):
        data = {**data, "workers": {name: _converted(worker) for name, worker in data["workers"].items()}}
    try:
        return parse_versioned(_FILE, json.dumps(data, default=str), file, AGAIN, ManifestError)
    except ManifestError as error:
        raise ManifestError(replace(one, mark=document.mark(one.path)) for one in error.problems) from None


def _converted(worker: Any) -> Any:
    """A worker of a lock without a version: its sentence as settings. Any other worker stays as it is."""
    match = _SENTENCE.fullmatch(str(worker.get("setting"))) if isinstance(worker, dict) else None
    if not match:
        return worker
    requests, context, count, top = (int(number or 0) for number in match.groups())
    sizes = capture_sizes(WorkerSettings(context, requests, batched_tokens=top)) if top else ()
    args = worker["args"] if isinstance(worker.get("args"), list) else []
    settings = MeasuredSettings(requests, context, sizes, read_flags(tuple(map(str, args))).kv_dtype)
    return {**worker, "settings": asdict(settings)} if len(sizes) == count else worker


def measured(lock: Lock, gpu: Gpu, wanted: Mapping[str, WorkerIdentity]) -> dict[str, Measured]:
    """Service -> what the plan may use. Workers that were never measured are left to the formulas. Raises
    ManifestError for a lock of another card or driver, and for a worker measured with another image or flags."""
    known = {service: lock.workers[service] for service in wanted if service in lock.workers}
    problems = [*_other_card(lock.card, gpu)]
    for service, worker in known.items():
        problems += other_worker(service, worker, wanted[service])
    if problems:
        raise ManifestError(problems)
    return {service: _measured(worker, lock.card) for service, worker in known.items()}


def _measured(worker: Locked, card: CardIdentity) -> Measured:
    engine = f"vLLM {worker.vllm}" if worker.vllm else worker.image
    return Measured(
        settings=worker.settings,
        rest_bytes=worker.footprint,
        context_bytes=min(worker.context_bytes, worker.footprint),
        why=f"measured on {card.name}, {engine}, under load" if worker.loaded_bytes else f"measured on {card.name}",
    )


def _other_card(card: CardIdentity, gpu: Gpu) -> Iterator[Problem]:
    said = "monogpu.lock.yaml was measured"
    if gpu.kind == "host":
        yield Problem(f"{said} on a card, and this manifest serves on the CPU", AGAIN)
    elif (card.name, card.total_bytes) != (gpu.name, gpu.total_bytes):
        here = f"{gpu.name} with {gib(gpu.total_bytes)}"
        yield Problem(f"{said} on {card.name} with {gib(card.total_bytes)}, and this plan is for {here}", AGAIN)
    elif card.driver and gpu.driver and card.driver != gpu.driver:
        yield Problem(f"{said} with driver {card.driver}, and this is {gpu.driver}", AGAIN)


def other_worker(service: str, worker: Locked, wanted: WorkerIdentity) -> Iterator[Problem]:
    """What a worker is run with now, where it was measured with something else."""
    for key in (field.name for field in fields(WorkerIdentity)):
        was, now = getattr(worker, key), getattr(wanted, key)
        if was != now:
            yield Problem(f"'{service}' was measured with {key} {_said(was)}, and now says {_said(now)}", AGAIN)


def _said(value: str | tuple[str, ...]) -> str:
    return value if isinstance(value, str) else " ".join(value) or "none"
