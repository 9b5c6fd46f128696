"""`calibrate`: start each worker alone, read the driver when it is idle and after a burst, write monogpu.lock.yaml."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from kit.compose import exec as inside
from kit.compose import up
from kit.diagnostics.pattern import read_log
from kit.engines import ENGINES, image_of
from kit.errors import Problem, TargetError
from kit.files import read_text, write_atomically
from kit.gpu import ask_driver
from kit.memory.bill import Plan, Share
from kit.memory.flags import read_flags
from kit.memory.worker import MeasuredSettings
from kit.output.console import Output
from kit.output.progress import Watcher
from kit.planner.admission import compare
from kit.planner.lockfile import Lock, Locked, WorkerIdentity, card_of, from_text, other_worker, to_text
from kit.project.load import LIVE, LOCK, Project, planned, read_project, wanted
from kit.project.write import COMPOSE, rendered_from, write
from kit.units import gib

if TYPE_CHECKING:
    from docker import DockerClient

BURST_SECONDS = 12


def run(output: Output, file: Path, timeout: float) -> int:
    project = read_project(file)
    if project.manifest.gpu.device == "none":
        raise TargetError("there is nothing to calibrate on the CPU: no driver lists what a process uses")
    client = up.connect(output.environ)
    _refuse_running(project, client)
    plan = planned(project, LIVE, locks=False)
    write(project.folder / COMPOSE, rendered_from(project, plan), force=False)
    identities = wanted(
        project.manifest, {m.name: image_of(m, plan.gpu.kind == "host") for m in project.manifest.models}
    )
    priced = [share for share in plan.shares if share.facts]
    workers = done_before(project.folder, plan, identities)
    for share in (share for share in priced if not share.replica):
        if share.service in workers:
            output.say(f"{share.service}: measured before; kept")
            continue
        workers[share.service] = _measure(output, project, client, share, identities[share.service], timeout)
        _write(project, Lock(card_of(plan.gpu), workers))
        output.print(_said(share, workers[share.service]))
    # Replicas are run alike: one measurement stands for all.
    _write(project, Lock(card_of(plan.gpu), {share.service: workers[share.model.name] for share in priced}))
    output.print(f"wrote {project.folder / LOCK}; `monogpu-kit render` uses it")
    return 0


def _refuse_running(project: Project, client: DockerClient) -> None:
    """A worker is measured alone."""
    running = [one.service for one in up.status(project.manifest.name, client) if one.status == "running"]
    if running:
        raise TargetError(
            Problem(f"{', '.join(running)} of {project.manifest.name} run", "needed: `monogpu-kit down` first")
        )


def done_before(folder: Path, plan: Plan, identities: dict[str, WorkerIdentity]) -> dict[str, Locked]:
    """Workers that an interrupted run has measured already, if they are still run like that."""
    text = read_text(folder / f"{LOCK}.part")
    if text is None:
        return {}
    lock = from_text(text, f"{LOCK}.part")
    if lock.card != card_of(plan.gpu):
        return {}
    settings = {share.service: settings_of(share) for share in plan.shares}
    return {
        name: worker
        for name, worker in lock.workers.items()
        if worker.settings == settings.get(name) and not list(other_worker(name, worker, identities[name]))
    }


def settings_of(share: Share) -> MeasuredSettings:
    """What a measurement of a worker holds for."""
    kv_dtype = read_flags(share.model.args).kv_dtype
    return MeasuredSettings(share.requests, share.context, share.capture_sizes, kv_dtype)


def _write(project: Project, lock: Lock) -> None:
    complete = set(lock.workers) >= {m.name for m in project.manifest.models if ENGINES[m.engine].PRICED}
    part = project.folder / f"{LOCK}.part"
    write_atomically(project.folder / LOCK if complete else part, to_text(lock))
    if complete:
        part.unlink(missing_ok=True)


def _measure(
    output: Output, project: Project, client: DockerClient, share: Share, identity: WorkerIdentity, timeout: float
) -> Locked:
    name = project.manifest.name
    try:
        with Watcher(output.progress()) as watch:
            up.up(project.folder, client, output.environ, watch, timeout, only=(share.service,))
        worker = inside.running(client, name, share.service)
        idle = _used(project, client, share.service)
        words = max(min(share.context - 64, share.batched_tokens) // 2, 8)
        output.say(f"  {share.service} uses {gib(idle)} when idle; {BURST_SECONDS} s of load follow")
        model = share.model
        counts = inside.burst(client, worker, model.name, model.task, share.requests, BURST_SECONDS, words)
        if not counts["done"]:
            raise TargetError(
                Problem(f"no request to {share.service} succeeded", "so its memory under load is unknown"),
                evidence=str(counts["first_failure"]),
            )
        if counts["failed"]:
            total = counts["done"] + counts["failed"]
            output.say(f"  {counts['failed']} of {total} requests failed: {counts['first_failure']}")
        loaded = _used(project, client, share.service)
        log = "\n".join(up.logs(name, client, share.service, tail=10_000))
    finally:
        up.down(name, client)
    return _locked(client, share, identity, idle, loaded, log)


def _used(project: Project, client: DockerClient, service: str) -> int:
    """What the driver shows for a service's processes, in bytes. Raises TargetError when it shows nothing."""
    pids = inside.pids(client, project.manifest.name, {service})
    used = compare({service: 0}, pids, ask_driver(project.manifest.gpu.device))[0].measured
    if used is None:
        raise TargetError(
            Problem(
                f"the driver shows no memory for {service}'s processes",
                "needed: a driver that lists processes (not WSL2, not MIG), and the kit outside any container",
            )
        )
    return used


def _locked(client: DockerClient, share: Share, identity: WorkerIdentity, idle: int, loaded: int, log: str) -> Locked:
    values = read_log(log)
    # The registry's digest; an image that was built here has none.
    digests = client.images.get(identity.image).attrs.get("RepoDigests") or []
    return Locked(
        **asdict(identity),
        digest=str(digests[0]).rpartition("@")[2] if digests else None,
        vllm=values.version,
        revision=share.facts.revision if share.facts else None,
        settings=settings_of(share),
        kv_driver_bytes=share.bytes_of("kv_cache", "kv_rounding"),
        context_bytes=share.bytes_of("context"),
        rest_bytes=idle,
        loaded_bytes=loaded,
        kv_tokens=values.kv_tokens,
        weights_gib=values.weights_gib,
        graphs_gib=values.graphs_gib,
    )


def _said(share: Share, worker: Locked) -> str:
    truth = max(worker.rest_bytes, worker.loaded_bytes or 0)
    return (
        f"{share.service}: {gib(worker.rest_bytes)} idle, {gib(truth)} under load; "
        f"estimated {gib(share.total_bytes)} ({share.total_bytes / truth - 1:+.1%})"
    )
