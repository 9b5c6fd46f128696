"""What a machine lacks, with the command that fixes it.

Machine (what was seen, once) and Wants (what the manifest needs) -> findings. Everything here is pure: looking is done
by targets/probing.py, and only `doctor` prints.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kit.doctor import docker, gpu, host, hub, mps, secrets
from kit.doctor.finding import Finding
from kit.doctor.machine import Machine
from kit.doctor.requirements import Requirements

CHECKS = (
    docker.docker,
    docker.compose,
    docker.images,
    gpu.card,
    gpu.access,
    gpu.driver,
    gpu.kernels,
    gpu.holders,
    mps.mode,
    mps.daemons,
    mps.programs,
    mps.limits,
    host.disk,
    host.memory,
    host.port,
    host.clock,
    host.place,
    secrets.variables,
    secrets.key,
    secrets.dotenv,
    hub.folders,
    hub.repositories,
)


def diagnose(machine: Machine, wants: Requirements) -> tuple[Finding, ...]:
    """Every finding, in the order in which things are needed."""
    return tuple(finding for check in CHECKS for finding in _found(check(machine, wants)))


def _found(found: Iterator[Finding]) -> Sequence[Finding]:
    return tuple(found)


def sick(findings: Sequence[Finding]) -> bool:
    """Whether something stops the stack."""
    return any(finding.severity == "fail" for finding in findings)
