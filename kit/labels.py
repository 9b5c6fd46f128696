"""The labels of a project's containers: enough to say what runs without the manifest. No kit version is among them,
so a newer kit does not recreate containers that did not change."""

from __future__ import annotations

from collections.abc import Mapping

from kit.bill import Plan, Share
from kit.stack import Probe, Task

ROLE = "monogpu.role"  # worker, router or fetch
MODEL = "monogpu.model"  # the model's name
TASK = "monogpu.task"
NAMES = "monogpu.names"  # what clients put in "model": the model's name first, then its adapters', with commas
BYTES = "monogpu.bytes"  # the footprint that the plan promised
CARD = "monogpu.card"  # the UUID, or the name where nobody asked the driver
CARD_BYTES = "monogpu.card-bytes"  # the card's total, so that another card is noticed

Labels = tuple[tuple[str, str], ...]


def worker_labels(share: Share, plan: Plan) -> Labels:
    """What a worker says of itself."""
    model = share.model
    return (
        (ROLE, "worker"),
        (MODEL, model.name),
        (TASK, model.task),
        (NAMES, ",".join([model.name, *(adapter.name for adapter in model.adapters)])),
        (BYTES, str(share.total_bytes)),
        (CARD, plan.gpu.uuid or plan.gpu.name),
        (CARD_BYTES, str(plan.gpu.total_bytes)),
    )


def probes_of(service: str, labels: Mapping[str, str]) -> tuple[Probe, ...]:
    """The probes that `worker_labels` were made from; none for a router, a download or a foreign container."""
    if labels.get(ROLE) != "worker":
        return ()
    base, *adapters = labels[NAMES].split(",")
    task: Task = labels[TASK]  # type: ignore[assignment]
    return (Probe(base, task, service), *(Probe(adapter, task, service, base=base) for adapter in adapters))
