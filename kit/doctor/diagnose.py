"""What a machine lacks, with the command that mends it.

Machine (what was seen, once) and Wants (what the manifest needs) -> findings. Everything here is pure: looking is done
by targets/probing.py, and only `doctor` prints.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kit.doctor import card, engine, host, hub, secret, sharing
from kit.doctor.finding import Finding
from kit.doctor.machine import Machine
from kit.doctor.wants import Wants

CHECKS = (
    engine.docker,
    engine.compose,
    engine.images,
    card.card,
    card.access,
    card.driver,
    card.kernels,
    card.holders,
    sharing.mode,
    sharing.daemons,
    sharing.programs,
    sharing.limits,
    host.disk,
    host.memory,
    host.port,
    host.clock,
    host.place,
    secret.variables,
    secret.key,
    secret.dotenv,
    hub.folders,
    hub.repositories,
)


def diagnose(machine: Machine, wants: Wants) -> tuple[Finding, ...]:
    """Every finding, in the order in which things are needed."""
    return tuple(finding for check in CHECKS for finding in _found(check(machine, wants)))


def _found(found: Iterator[Finding]) -> Sequence[Finding]:
    return tuple(found)


def sick(findings: Sequence[Finding]) -> bool:
    """Whether something stops the stack."""
    return any(finding.severity == "fail" for finding in findings)
