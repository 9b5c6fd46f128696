"""The card that `plan` and `render` plan for: as it would be without what this project's own workers hold of it."""

from __future__ import annotations

import os
from contextlib import suppress

from kit.compose import up
from kit.compose.client import is_local
from kit.compose.stats import apart_from
from kit.errors import TargetError
from kit.gpu import Gpu
from kit.project.load import Project, choose_gpu, is_live


def for_plan(project: Project, asked: str | None) -> Gpu:
    """The card. Where Docker does not answer, whatever is held counts as held by others. Raises GpuError."""
    gpu = choose_gpu(project, asked)
    if not is_live(project, asked):
        return gpu
    with suppress(TargetError):
        client = up.connect(os.environ)
        if is_local(client):
            return apart_from(client, own_name(project), gpu)
    return gpu


def own_name(project: Project) -> str:
    """What Docker knows the project by."""
    return os.environ.get("COMPOSE_PROJECT_NAME") or project.manifest.name
