"""NVIDIA MPS: one control daemon for all workers on the card, so that their kernels run side by side. Pure.

A CUDA program finds the daemon in the folder that CUDA_MPS_PIPE_DIRECTORY names, and shares memory with the daemon's
server under /dev/shm; a program that finds none runs without MPS. So the daemon and the workers mount one volume in
memory at /dev/shm, and the folder lies in it, as NVIDIA's own plugin for Kubernetes shares the two. The shorter
`ipc: service:mps` would share /dev/shm as well, but then a worker cannot be started while the daemon's container does
not run: Docker reports that once and does not try again, so that after a crash of the machine workers stay down,
whatever their restart policy (seen with Engine 26.1). The folder is not the usual /tmp/nvidia-mps: NVIDIA's runtime
mounts that one into every container of a host that has it (aws/amazon-ecs-ami#771).

A server serves one user, so all of them run as root, without any capability, each in its own process namespace: MPS
then knows its clients as process 0, and serves them (seen on an H200 with driver 580: both clients of the daemon were
listed as M+C, and three vLLM workers served through it). When the daemon's container is stopped, its server ends, and
so does every worker: they restart by themselves, and `up` restarts them in turn. The daemon clears the folder at its
start, because what an earlier one left there looks like a daemon that still runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kit.engines.download import mount_of
from kit.memory.bill import Plan
from kit.stack.labels import ROLE
from kit.stack.model import Condition, Health, Mount, Service

NAME = "mps"
PROGRAMS = ("nvidia-cuda-mps-control", "nvidia-cuda-mps-server")
PIPES, LOGS = "/dev/shm/nvidia-mps", "/var/log/nvidia-mps"
USER = "0:0"

_SHARED = Mount("volume", f"{NAME}-memory", "/dev/shm", in_memory=True)
_FOLDER = ("CUDA_MPS_PIPE_DIRECTORY", PIPES)
_READY: Condition = "service_healthy"
# In the foreground the daemon writes its log and its server's to the container's.
_RUN = (
    'rm -rf "$CUDA_MPS_PIPE_DIRECTORY"; mkdir -p "$CUDA_MPS_PIPE_DIRECTORY" "$CUDA_MPS_LOG_DIRECTORY"; '
    "exec nvidia-cuda-mps-control -f"
)
_HEALTHY = "echo get_default_active_thread_percentage | nvidia-cuda-mps-control"
_COMMENT = (
    "Shares the card among the workers by NVIDIA MPS: their kernels run side by side, not in turns. A kernel that goes",
    "wrong in one of them ends all of them, and they start again. The image is a worker's: NVIDIA's runtime puts the",
    "daemon's program into it.",
)


def shared(workers: Sequence[Service], plan: Plan) -> tuple[tuple[Service, ...], list[Service]]:
    """The daemon, and the workers as its clients. Workers without the card stay as they are."""
    first = next((worker for worker in workers if worker.device), None)
    if first is None:
        return (), list(workers)
    return (_daemon(first, plan),), [_client(worker) if worker.device else worker for worker in workers]


def _daemon(worker: Service, plan: Plan) -> Service:
    """In a worker's image, which is downloaded anyway, on its card, and with what the manifest mounts into it to read:
    the image may need it."""
    given = {mount_of(text) for model in plan.manifest.models for text in model.volumes}
    return Service(
        name=NAME,
        image=worker.image,
        entrypoint=("/bin/sh", "-ec"),
        command=(_RUN,),
        comment=_COMMENT,
        environment=(_FOLDER, ("CUDA_MPS_LOG_DIRECTORY", LOGS)),
        mounts=(_SHARED, *(mount for mount in worker.mounts if mount.read_only and mount in given)),
        health=Health(("/bin/sh", "-c", _HEALTHY), retries=6, start_period=60),
        device=worker.device,
        restart="unless-stopped",
        stop_grace=10,
        user=USER,
        labels=((ROLE, NAME),),
    )


def _client(worker: Service) -> Service:
    return replace(
        worker,
        environment=(*worker.environment, _FOLDER),
        mounts=(*worker.mounts, _SHARED),
        depends_on=(*worker.depends_on, (NAME, _READY)),
        restarts_with=(*worker.restarts_with, NAME),
        shm_bytes=None,
        user=USER,
    )
