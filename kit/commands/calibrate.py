"""`calibrate`: start each worker alone, read the driver at rest and after a burst, and write monogpu.lock.yaml."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from kit.compose import exec as inside
from kit.compose import up
from kit.diagnostics.log_values import read_log
from kit.engines import ENGINES
from kit.errors import Problem, TargetError
from kit.files import read_text, write_atomically
from kit.gpu import ask_driver
from kit.memory.bill import Plan, Share
from kit.output.console import Output
from kit.output.progress import Watcher
from kit.planner.lockfile import Lock, Locked, card_of, from_text, to_text
from kit.project.load import LIVE, LOCK, Project, planned, read_project
from kit.project.write import COMPOSE, rendered_from, write
from kit.units import gib

if TYPE_CHECKING:
    from docker import DockerClient

BURST_SECONDS = 12


def run(output: Output, file: Path, timeout: float) -> int:
    project = read_project(file)
    if project.manifest.gpu.device == "none":
        raise TargetError("there is nothing to calibrate on the CPU: no driver says what a process holds")
    client = up.connect(output.environ)
    _refuse_running(project, client)
    plan = _fresh_plan(project)
    write(project.folder / COMPOSE, rendered_from(project, plan), force=False)
    workers: dict[str, Locked] = dict(_done_before(project, plan))
    for share in _each_once(plan):
        if share.service in workers:
            output.say(f"{share.service}: measured before; kept")
            continue
        workers[share.service] = _measure(output, project, client, plan, share, timeout)
        _write(project, Lock(card_of(plan.gpu), workers))
        output.print(_said(share, workers[share.service]))
    _write(project, Lock(card_of(plan.gpu), _with_replicas(plan, workers)))
    output.print(f"wrote {project.folder / LOCK}; `monogpu-kit render` uses it")
    return 0


def _refuse_running(project: Project, client: DockerClient) -> None:
    """A worker is measured alone."""
    running = [one.service for one in up.status(project.manifest.name, client) if one.state == "running"]
    if running:
        raise TargetError(
            Problem(f"{', '.join(running)} of {project.manifest.name} run", "needed: `monogpu-kit down` first")
        )


def _fresh_plan(project: Project) -> Plan:
    """The plan by formulas: an old lock is not asked."""
    return planned(project, LIVE, locks=False)


def _done_before(project: Project, plan: Plan) -> dict[str, Locked]:
    """Workers that an interrupted run has measured already, as they are wanted now."""
    text = read_text(project.folder / f"{LOCK}.part")
    if text is None:
        return {}
    lock = from_text(text, f"{LOCK}.part")
    if lock.card != card_of(plan.gpu):
        return {}
    same = {s.service: s for s in plan.shares}
    return {
        name: worker
        for name, worker in lock.workers.items()
        if name in same and (worker.args, worker.setting) == (same[name].model.args, setting_of(same[name]))
    }


def _write(project: Project, lock: Lock) -> None:
    complete = set(lock.workers) >= {m.name for m in project.manifest.models if ENGINES[m.engine].PRICED}
    part = project.folder / f"{LOCK}.part"
    write_atomically(project.folder / LOCK if complete else part, to_text(lock))
    if complete:
        part.unlink(missing_ok=True)


def _each_once(plan: Plan) -> list[Share]:
    return [share for share in plan.shares if share.replica == 0 and share.facts]


def _with_replicas(plan: Plan, workers: dict[str, Locked]) -> dict[str, Locked]:
    """Replicas are run alike: one measurement stands for all."""
    return {share.service: workers[share.model.name] for share in plan.shares if share.facts}


def setting_of(share: Share) -> str:
    """The candidate in words, as a lock keeps it."""
    from kit.memory.candidates import said

    return said(share.requests, share.context, share.capture_sizes)


def _measure(
    output: Output, project: Project, client: DockerClient, plan: Plan, share: Share, timeout: float
) -> Locked:
    name = project.manifest.name
    try:
        with Watcher(output.progress()) as watch:
            up.up(project.folder, client, output.environ, watch, timeout, only=(share.service,))
        container = inside.container_of(client, name, share.service)
        rest = _held(project, client, share.service)
        task = share.model.task
        words = max(min(share.context - 64, share.batched_tokens) // 2, 8)
        output.say(f"  {share.service} holds {gib(rest)} at rest; {BURST_SECONDS} s of load follow")
        counts = inside.burst(client, container, 8000, share.model.name, task, share.requests, BURST_SECONDS, words)
        if not counts["done"]:
            raise TargetError(
                Problem(f"no request to {share.service} succeeded", "so what it grows to is unknown"),
                evidence=str(counts["first_failure"]),
            )
        if counts["failed"]:
            asked = counts["done"] + counts["failed"]
            output.say(f"  {counts['failed']} of {asked} requests failed: {counts['first_failure']}")
        loaded = _held(project, client, share.service)
        log = "\n".join(up.logs(name, client, share.service, tail=10_000))
    finally:
        up.down(name, client)
    return _locked(client, plan, share, rest, loaded, log)


def _held(project: Project, client: DockerClient, service: str) -> int:
    """What the driver shows for a service's processes, in bytes. Raises TargetError when it shows nothing."""
    gpu = ask_driver(project.manifest.gpu.device)
    mine = inside.pids(client, project.manifest.name, {service}).get(service, [])
    held = sum(process.bytes for process in gpu.processes if process.pid in mine)
    if not held:
        raise TargetError(
            Problem(
                f"the driver shows no memory for {service}'s processes",
                "needed: a driver that lists processes (not WSL2, not MIG), and the kit outside any container",
            )
        )
    return held


def _locked(client: DockerClient, plan: Plan, share: Share, rest: int, loaded: int, log: str) -> Locked:
    from kit.project.load import image_of

    said = read_log(log)
    kv = [line.bytes for line in share.lines if line.what in ("kv cache", "kv rounding")]
    image = image_of(share.model, plan.gpu)
    return Locked(
        image=image,
        digest=_digest(client, image),
        vllm=said.version,
        source=share.model.source,
        revision=share.facts.revision if share.facts else None,
        setting=setting_of(share),
        args=share.model.args,
        adapters=tuple(f"{a.name}={a.source}" for a in share.model.adapters),
        kv_driver_bytes=sum(kv),
        context_bytes=sum(line.bytes for line in share.lines if line.what == "context"),
        rest_bytes=rest,
        loaded_bytes=loaded,
        kv_tokens=said.kv_tokens,
        weights_gib=said.weights_gib,
        graphs_gib=said.graphs_gib,
    )


def _digest(client: DockerClient, image: str) -> str | None:
    """The registry's digest of an image, None for one that was built here."""
    digests = client.images.get(image).attrs.get("RepoDigests") or []
    return str(digests[0]).rpartition("@")[2] if digests else None


def _said(share: Share, worker: Locked) -> str:
    truth = max(worker.rest_bytes, worker.loaded_bytes or 0)
    return (
        f"{share.service}: {gib(worker.rest_bytes)} at rest, {gib(truth)} under load; "
        f"the formulas said {gib(share.total_bytes)} ({share.total_bytes / truth - 1:+.1%})"
    )
