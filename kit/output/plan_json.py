"""A plan as JSON, in the shape that scripts rely on."""

from __future__ import annotations

from typing import Any

from kit.errors import KitError, dotted
from kit.gpu import Gpu, to_json
from kit.memory.bill import Line, Plan, Share


def plan_json(plan: Plan) -> dict[str, Any]:
    """`{"fits", "gpu", "usable_bytes", "spare_bytes", "reserved", "shares": [...], "problems": []}`; sizes in bytes."""
    return {
        "fits": True,
        "gpu": gpu_json(plan.gpu),
        "usable_bytes": plan.usable_bytes,
        "spare_bytes": plan.spare_bytes,
        "reserved": [_line(line) for line in plan.reserved],
        "shares": [_share(share) for share in plan.shares],
        "notes": list(plan.notes),
        "problems": [],
    }


def misfit_json(error: KitError, gpu: Gpu | None) -> dict[str, Any]:
    """The same shape for what does not fit: no shares, the problems, and the bill as text."""
    return {
        "fits": False,
        "gpu": gpu_json(gpu) if gpu else None,
        "usable_bytes": None,
        "spare_bytes": None,
        "shares": [],
        "problems": problems_json(error),
        "bill": error.evidence,
    }


def problems_json(error: KitError) -> list[dict[str, Any]]:
    return [
        {
            "file": problem.mark.file if problem.mark else None,
            "line": problem.mark.line if problem.mark else None,
            "column": problem.mark.column if problem.mark else None,
            "path": dotted(problem.path) or None,
            "what": problem.what,
            "needed": problem.needed,
            "hint": problem.hint,
        }
        for problem in error.problems
    ]


def gpu_json(gpu: Gpu) -> dict[str, Any]:
    return {**to_json(gpu), "kind": gpu.kind, "origin": gpu.origin, "assumed": list(gpu.assumed)}


def _line(line: Line) -> dict[str, Any]:
    return {"kind": line.kind, "what": line.label, "bytes": line.bytes, "why": line.why}


def _share(share: Share) -> dict[str, Any]:
    return {
        "model": share.model.name,
        "service": share.service,
        "total_bytes": share.total_bytes,
        "kv_bytes": share.kv_bytes,
        "kv_tokens": share.kv_tokens,
        "concurrency": round(share.concurrency, 2),
        "context": share.context,
        "requests": share.requests,
        "graphs": share.graphs,
        "capture_sizes": list(share.capture_sizes),
        "gpu_memory_utilization": share.utilization,
        "degraded": list(share.degraded),
        "lines": [_line(line) for line in share.lines],
    }
