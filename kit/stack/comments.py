"""The plan in words, as comment lines: the header of a printed file, and the bill above each worker."""

from __future__ import annotations

from collections.abc import Sequence

from kit.gpu import Gpu
from kit.memory.bill import Plan, Share
from kit.units import gib, size

_HOW = """\
Printed by `monogpu-kit render`. Change monogpu.yaml and render again: the first line is a checksum, and a file that
was edited by hand is not overwritten without --force.

  docker compose up -d --wait    start everything in order; returns when all of it is healthy
  docker compose ps              what runs
  docker compose down            stop it"""


def endpoint(bind: str, port: int | str) -> str:
    """The URL that clients on this machine use for what is published at `bind`:`port`; "" is every address."""
    host = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}.get(bind, bind).strip("[]")
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def header(plan: Plan, how: Sequence[str] = (), reached: str = "") -> tuple[str, ...]:
    """How to use the file, the card it was planned for, and how the card is shared out. `how` and `reached`: what is
    said of the use, and of the endpoint, instead of what holds for a compose file."""
    table = [
        ("total", plan.gpu.total_bytes, ""),
        *((f"- {line.label}", line.bytes, line.why) for line in plan.reserved),
        ("usable", plan.usable_bytes, ""),
        *((f"- {share.service}", share.total_bytes, share.model.source) for share in plan.shares),
        ("spare", plan.spare_bytes, ""),
    ]
    curl = reached or f"  curl {endpoint(plan.manifest.router.bind, plan.manifest.router.port)}/v1/models"
    notes = [f"note: {note}" for note in plan.notes]
    return (*(how or _HOW.splitlines()), curl, "", f"Planned for {_card(plan.gpu)}:", *_table(table), *notes)


def bill(share: Share) -> tuple[str, ...]:
    """One worker: every line of its footprint, then what that buys."""
    lines = [(line.label, line.bytes, line.why) for line in share.lines]
    return (
        f"{share.service}: {share.model.source}",
        *_table([*lines, ("total", share.total_bytes, f"{share.total_bytes:,} bytes")]),
        _buys(share),
        *(f"  {what}" for what in share.degraded),
    )


def _buys(share: Share) -> str:
    if not share.facts:
        return f"  {share.requests} requests at once" + (f"; a context of {share.context}" if share.context else "")
    return (
        f"  {share.requests} requests at once; {share.kv_tokens} tokens of KV cache, "
        f"{share.concurrency:.1f} times the context of {share.context}; CUDA graphs {share.graphs}"
    )


def _card(gpu: Gpu) -> str:
    if gpu.kind == "host":
        return f"the CPU, in {gib(gpu.total_bytes)} of host memory"
    said = ", ".join(word for word in (gpu.uuid, gpu.driver and f"driver {gpu.driver}") if word)
    return f"{gpu.name} ({said})" if said else gpu.name


def _table(rows: Sequence[tuple[str, int, str]]) -> list[str]:
    wide = max(len(label) for label, _, _ in rows)
    return [f"  {label:<{wide}}  {size(count):>10}  {why}".rstrip() for label, count, why in rows]
