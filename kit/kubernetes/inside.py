"""What is done inside of containers: folders of this machine are brought to the jobs that wait for them, and a worker
is made to crash."""

from __future__ import annotations

import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path

from kit.compose.wait import Clock
from kit.errors import Problem, TargetError
from kit.kubernetes.apply import ours
from kit.kubernetes.check_stack import CheckStack, PrintedStack
from kit.kubernetes.cluster import Cluster, Json
from kit.kubernetes.names import COMPONENT
from kit.kubernetes.render import upload_jobs
from kit.kubernetes.volumes import Upload, uploads
from kit.kubernetes.wait import LOOK_SECONDS, Said, look
from kit.units import size

# Kills every process of the container but its first, which no signal from inside kills; where that is the only one, it
# is asked to end. An engine that loses its processes ends by itself.
_KILL = """\
import os, signal
mine = {1, os.getpid()}
others = [int(name) for name in os.listdir('/proc') if name.isdecimal() and int(name) not in mine]
for pid in others:
    try:
        os.kill(pid, signal.SIGKILL)
    except OSError:
        pass
if not others:
    os.kill(1, signal.SIGTERM)
"""


def upload_all(
    cluster: Cluster, stack: CheckStack, printed: PrintedStack, seconds: float, clock: Clock, say: Said
) -> str:
    """Fills every job that waits for an upload. A job that is complete is left alone."""
    layout = printed.layout
    found: list[str] = []
    for upload in uploads(layout, layout.stack.services):
        for job in upload_jobs(upload, layout):
            there = cluster.get("Job", layout.namespace, job)
            if there is not None and (there.get("status") or {}).get("succeeded"):
                continue
            pod = _running(cluster, printed, job, seconds, clock, say)
            found.append(_send(cluster, layout.namespace, pod, upload, stack.folder(upload.source)))
    return "; ".join(found) or "nothing to upload"


def _running(cluster: Cluster, printed: PrintedStack, job: str, seconds: float, clock: Clock, say: Said) -> str:
    """The pod of a job, once its container runs. Raises TargetError with what it waits for."""
    layout = printed.layout
    until, last = clock.now() + seconds, ""
    while True:
        for pod in cluster.list("Pod", layout.namespace, {"job-name": job}):
            if _is_running(pod):
                return str(pod["metadata"]["name"])
        waiting = [one for one in look(cluster, layout.namespace, layout.project, printed.objects) if job in one.where]
        if any(one.final for one in waiting) or clock.now() >= until:
            raise TargetError([Problem(f"the upload's job does not run: {one}") for one in waiting] or f"{job}: no pod")
        text = "; ".join(str(one) for one in waiting)
        if text != last:
            say(f"  {text}")
            last = text
        cluster.await_change("Pod", layout.namespace, LOOK_SECONDS)


def _is_running(pod: Json) -> bool:
    statuses = (pod.get("status") or {}).get("containerStatuses") or []
    return any("running" in (one.get("state") or {}) for one in statuses)


def _send(cluster: Cluster, namespace: str, pod: str, upload: Upload, source: Path) -> str:
    """The archive's length is said: the end of an input is not passed on by every version of the protocol."""
    with tempfile.NamedTemporaryFile(suffix=".tar") as file:
        with tarfile.open(fileobj=file, mode="w", dereference=True) as archive:
            archive.add(source, arcname=source.name if upload.is_file else ".")
        file.flush()
        length = Path(file.name).stat().st_size
        make = 'mkdir -p "$FOLDER" "${MARK%/*}"'
        receive = f'{make} && head -c {length} | tar -x -C "$FOLDER" && touch "$MARK"'
        done = cluster.exec(namespace, pod, "upload", ("sh", "-c", receive), Path(file.name))
    if done.code not in (0, None):
        raise TargetError(Problem(f"{upload.source} was not received: {done.text[-400:] or f'exit code {done.code}'}"))
    return f"{upload.source}, {size(length)}"


def crash(cluster: Cluster, printed: PrintedStack, worker: str, clock: Clock, seconds: float) -> None:
    """Kills a worker's engine, and returns when its container was counted as restarted. Raises TargetError."""
    before = restarts(cluster, printed, worker)
    for pod, _ in containers(cluster, printed, worker):
        cluster.exec(printed.layout.namespace, str(pod["metadata"]["name"]), worker, ("python3", "-c", _KILL))
        break
    until = clock.now() + seconds
    while restarts(cluster, printed, worker) <= before:
        if clock.now() >= until:
            raise TargetError(Problem(f"{worker} was killed, and its container did not restart in {seconds:.0f} s"))
        cluster.await_change("Pod", printed.layout.namespace, 1.0)


def restarts(cluster: Cluster, printed: PrintedStack, worker: str) -> int:
    """How often the containers of a worker were restarted, in all pods."""
    return sum(int(one.get("restartCount", 0)) for _, one in containers(cluster, printed, worker))


def containers(cluster: Cluster, printed: PrintedStack, worker: str) -> Iterator[tuple[Json, Json]]:
    """(pod, status of the container) of every pod that runs a worker."""
    labels = {**ours(printed.layout.project), COMPONENT: "worker"}
    for pod in cluster.list("Pod", printed.layout.namespace, labels):
        status = pod.get("status") or {}
        for one in (*(status.get("initContainerStatuses") or []), *(status.get("containerStatuses") or [])):
            if one["name"] == worker and not pod["metadata"].get("deletionTimestamp"):
                yield pod, one
