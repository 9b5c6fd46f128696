"""The workers as services: with their bills, labels and card, and the order in which they start. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kit.memory.bill import Plan, Share
from kit.stack.comments import bill
from kit.stack.labels import worker_labels
from kit.stack.model import Condition, Device, Service


def worker_services(made: Sequence[tuple[Service, Share]], plan: Plan) -> list[Service]:
    """What the engines made of the shares. An engine that serves several shares in one process gives each the same
    service, kept once: its bill has the parts of all, its labels promise their sum. Its own labels come last."""
    services: dict[str, Service] = {}
    shares: dict[str, list[Share]] = {}
    for service, share in made:
        services.setdefault(service.name, service)
        shares.setdefault(service.name, []).append(share)
    return [
        replace(
            service,
            comment=(*service.comment, *(line for share in shares[name] for line in bill(share))),
            labels=(*worker_labels(shares[name], plan), *service.labels),
            device=_device(plan),
        )
        for name, service in services.items()
    ]


def in_turn(workers: Sequence[Service]) -> list[Service]:
    """Each worker waits for the one before it to be healthy."""
    waits: list[tuple[tuple[str, Condition], ...]] = [(), *(((w.name, "service_healthy"),) for w in workers[:-1])]
    return [replace(w, depends_on=(*w.depends_on, *wait)) for w, wait in zip(workers, waits, strict=True)]


def _device(plan: Plan) -> Device | None:
    wish = plan.manifest.gpu
    if plan.gpu.kind == "host":
        return None
    return Device("cdi", f"nvidia.com/gpu={wish.device}") if wish.access == "cdi" else Device("nvidia", wish.device)
