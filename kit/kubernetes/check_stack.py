"""The stack that `scripts/cluster-check` walks with: the CPU demo in a namespace of its own, and its variants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from kit.engines import image_of
from kit.errors import ManifestError, Problem, TargetError
from kit.kubernetes.apply import parsed
from kit.kubernetes.checker import check
from kit.kubernetes.cluster import Json
from kit.kubernetes.layout import ClusterLayout, lay_out
from kit.kubernetes.render import render_kubernetes
from kit.project.load import Project, choose_gpu, planned_for, read_project
from kit.routers import ROUTERS

NEEDED = "`scripts/build-images model` makes the demo's model; --manifest names another stack"


@dataclass(frozen=True)
class PrintedStack:
    """One variant: its objects as a cluster gets them."""

    layout: ClusterLayout
    objects: tuple[Json, ...]

    @property
    def workers(self) -> tuple[str, ...]:
        return tuple(worker.name for worker in self.layout.workers)


@dataclass(frozen=True)
class CheckStack:
    """The project, as it is walked with."""

    project: Project

    @property
    def namespace(self) -> str:
        return self.project.manifest.kubernetes.namespace or ""

    @property
    def name(self) -> str:
        return self.project.manifest.name

    def printed(self, **changes: Any) -> PrintedStack:
        """The objects, with `changes` to kubernetes:. Raises KitError, also with what the checker finds."""
        manifest = self.project.manifest
        settings = manifest.kubernetes.model_copy(update=changes)
        project = replace(self.project, manifest=manifest.model_copy(update={"kubernetes": settings}))
        plan = planned_for(project, choose_gpu(project, None), locks=False)
        objects = tuple(parsed(render_kubernetes(plan)))
        if faults := check(objects):
            raise ManifestError([Problem(f"the checker found: {fault}") for fault in faults])
        return PrintedStack(lay_out(plan), objects)

    def edited(self) -> CheckStack:
        """The same with its last model changed: half of its requests at once."""
        *others, last = self.project.manifest.models
        fewer = 4 if last.requests == "auto" else max(last.requests // 2, 1)
        models = (*others, last.model_copy(update={"requests": fewer}))
        manifest = self.project.manifest.model_copy(update={"models": models})
        return CheckStack(replace(self.project, manifest=manifest))

    def folder(self, source: str) -> Path:
        """A folder or file of this machine that is uploaded. Raises TargetError where it is not there."""
        found = self.project.folder / Path(source).expanduser()
        if not found.exists():
            raise TargetError(Problem(f"{found} is not there, and is to be uploaded", NEEDED))
        return found


def check_stack(path: Path, namespace: str, images: Mapping[str, str], storage_class: str | None) -> CheckStack:
    """The manifest at `path` in another namespace, with images by other names. Raises KitError."""
    project = read_project(path)
    settings = project.manifest.kubernetes
    more = {"namespace": namespace, "image_map": {**settings.image_map, **images}}
    changes = more if storage_class is None else {**more, "storage_class": storage_class}
    manifest = project.manifest.model_copy(
        update={"name": namespace, "kubernetes": settings.model_validate({**settings.model_dump(), **changes})}
    )
    return CheckStack(replace(project, manifest=manifest))


def images_of(path: Path) -> Sequence[str]:
    """The images of the manifest's models and router."""
    manifest = read_project(path).manifest
    models = (image_of(model, manifest.gpu.device == "none") for model in manifest.models)
    router = manifest.router.image or ROUTERS[manifest.router.engine].DEFAULT_IMAGE
    return tuple(dict.fromkeys((*models, router)))
