"""The labels of a project's containers: enough to say what runs without the manifest. No kit version is among them,
so a newer kit does not recreate containers that did not change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kit.manifest.model import Task
from kit.memory.bill import Plan, Share
from kit.stack.model import Probe

ROLE = "monogpu.role"  # worker, router, proxy, download or mps
MODEL = "monogpu.model"  # the model's name; of a process that serves several, all of them, with commas
TASK = "monogpu.task"  # one for each of those
# What clients put in "model": the models' names first, then the adapters', with commas.
SERVED_NAMES = "monogpu.served-names"
TOOLS = "monogpu.tools"  # the model, where its tool calls are read
BYTES = "monogpu.bytes"  # the footprint that the plan promised
PORT = "monogpu.port"  # where the worker listens on its network
METRICS = "monogpu.metrics"  # PORT/PATH of its Prometheus metrics; none where the engine has no such metrics
CARD = "monogpu.card"  # the UUID, or the name where the driver was not asked
CARD_BYTES = "monogpu.card-bytes"  # the card's total, so that another card is noticed
FILES = "monogpu.files"  # the checksum of files that are read at the start alone: others need another container

# What the release before called some of them.
_RENAMED = {"monogpu.names": SERVED_NAMES}
_ROLES = {"fetch": "download"}

Labels = tuple[tuple[str, str], ...]


def worker_labels(shares: Sequence[Share], plan: Plan, port: int, metrics: str) -> Labels:
    """The labels of a worker that serves these shares at `port`; `metrics` is "" for none."""
    models = [share.model for share in shares]
    names = [model.name for model in models]
    return (
        (ROLE, "worker"),
        (MODEL, ",".join(names)),
        (TASK, ",".join(model.task for model in models)),
        (SERVED_NAMES, ",".join([*names, *(adapter.name for model in models for adapter in model.adapters)])),
        (BYTES, str(sum(share.total_bytes for share in shares))),
        (PORT, str(port)),
        *(((METRICS, metrics),) if metrics else ()),
        (CARD, plan.gpu.uuid or plan.gpu.name),
        (CARD_BYTES, str(plan.gpu.total_bytes)),
    )


def read(labels: Mapping[str, str]) -> dict[str, str]:
    """The labels of a container under the names of this release, whichever release started it."""
    found = {_RENAMED.get(name, name): value for name, value in labels.items()}
    return {name: _ROLES.get(value, value) if name == ROLE else value for name, value in found.items()}


def port_of(labels: Mapping[str, str]) -> int:
    """Where a worker listens; containers made before there was such a label listen at 8000."""
    return int(labels.get(PORT) or 8000)


def metrics_of(labels: Mapping[str, str]) -> tuple[int, str] | None:
    """Port and path of a worker's Prometheus metrics, None for a worker that has none."""
    port, slash, path = labels.get(METRICS, "" if PORT in labels else "8000/metrics").partition("/")
    return (int(port), slash + path) if slash else None


def probes_of(service: str, labels: Mapping[str, str]) -> tuple[Probe, ...]:
    """The probes that `worker_labels` were made from; none for a router, a download or a foreign container."""
    said = read(labels)
    if said.get(ROLE) != "worker":
        return ()
    tasks: list[Task] = said[TASK].split(",")  # type: ignore[assignment]
    names = said[SERVED_NAMES].split(",")
    models, adapters = names[: len(tasks)], names[len(tasks) :]
    tools = said.get(TOOLS)
    own = (Probe(name, task, service, tools=name == tools) for name, task in zip(models, tasks, strict=True))
    # Only a process that serves one model has adapters.
    return (*own, *(Probe(adapter, tasks[0], service, models[0], models[0] == tools) for adapter in adapters))
