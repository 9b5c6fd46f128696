"""What an engine's module offers when it has nothing of the kind: assigned by name."""

from __future__ import annotations

from collections.abc import Sequence

from kit.errors import KeyPath
from kit.manifest.model import Model
from kit.manifest.validators import Refused
from kit.memory.bill import Plan, Share
from kit.stack.model import File, Service


def nothing_refused(models: Sequence[tuple[int, Model]]) -> tuple[tuple[KeyPath, Refused], ...]:
    """Whatever the manifest's own rules let through is served."""
    return ()


def no_downloads(share: Share, plan: Plan) -> tuple[Service, ...]:
    """Nothing is downloaded."""
    return ()


def no_proxies(share: Share, plan: Plan) -> tuple[Service, ...]:
    """The router reaches the worker itself."""
    return ()


def no_files(share: Share, plan: Plan) -> tuple[File, ...]:
    """Nothing lies beside the compose file."""
    return ()
