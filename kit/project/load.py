"""Reading what a command starts from: the manifest, the models' files and the card become values."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from kit import cards
from kit.engines import ENGINES, image_of
from kit.errors import KeyPath, KitError, ManifestError, Mark, TargetError
from kit.facts.facts import AdapterFacts, Facts
from kit.files import read_text
from kit.gpu import Gpu, GpuError, ask_driver, ask_host, from_json, from_size, host, on_windows
from kit.manifest.model import (
    Manifest,
    parse_source,
)
from kit.manifest.parse import parse
from kit.manifest.yaml_document import Document, load_bytes
from kit.memory.bill import Plan
from kit.memory.worker import Measured
from kit.planner.lockfile import (
    WorkerIdentity,
    from_text,
    measured,
)
from kit.planner.workers import (
    PlanInput,
    services_of,
)

LIVE = "live"
LOCK = "monogpu.lock.yaml"


@dataclass(frozen=True)
class Project:
    """A manifest that was read: its folder, the document with its line numbers, and the values."""

    folder: Path
    document: Document
    manifest: Manifest


def read_project(path: Path) -> Project:
    """The manifest at `path`. Raises ManifestError."""
    shown = str(path)
    if path.is_dir():
        raise ManifestError(f"{shown} is a folder; needed: the manifest's file, such as {shown}/monogpu.yaml")
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise ManifestError(f"{shown}: no such file; `monogpu-kit init` writes one") from None
    except OSError as error:
        raise ManifestError(f"{shown} cannot be read: {error.strerror}") from None
    document = load_bytes(data, shown)
    folder = path.resolve().parent
    return Project(folder, document, parse(document, ENGINES, default_name=folder.name))


def choose_gpu(project: Project, asked: str | None) -> Gpu:
    """The card to plan for: --gpu, else gpu.memory, else a gpu.json beside the manifest, else the driver.
    `live` always asks the driver. Raises GpuError."""
    request = project.manifest.gpu
    if request.device == "none":
        return _host(project, asked)
    if is_live(project, asked):
        return replace(ask_driver(request.device), limit_bytes=request.memory)
    if asked:
        return given_gpu(asked)
    if request.memory is not None:
        return replace(cards.of_size(f"{request.memory}", "gpu.memory"), wddm=on_windows())
    recorded = project.folder / "gpu.json"
    return from_json(recorded.read_text(encoding="utf-8"), "gpu.json")


def is_live(project: Project, asked: str | None) -> bool:
    """Whether the driver (or the host) is asked, rather than a size or a recorded card taken."""
    if asked:
        return asked == LIVE
    request = project.manifest.gpu
    return request.memory is None and (request.device == "none" or not (project.folder / "gpu.json").exists())


def given_gpu(asked: str) -> Gpu:
    """The card that `asked` is: a recorded gpu.json, a name, or a size. Raises GpuError."""
    path = Path(asked)
    if asked.endswith(".json") or path.exists():
        try:
            return from_json(path.read_text(encoding="utf-8"), path.name)
        except OSError as error:
            what = f"{asked} cannot be read: {error.strerror}"
            raise GpuError(f"{what}; `monogpu-kit gpu -o gpu.json` records a card") from None
    return replace(cards.named(asked) or cards.of_size(asked), wddm=on_windows())


def _host(project: Project, asked: str | None) -> Gpu:
    """The host's memory: as much as gpu.memory or --gpu allows, else what is free now."""
    limit = project.manifest.gpu.memory
    if asked and asked != LIVE:
        given = given_gpu(asked) if asked.endswith(".json") else from_size(asked)
        return replace(given, name="host memory", kind="host", assumed=())
    return ask_host() if is_live(project, asked) or limit is None else host(limit, limit, "gpu.memory")


def card_for_plan(project: Project, asked: str | None, environ: Mapping[str, str]) -> Gpu:
    """The card as it would be without this project's own workers. Where Docker does not answer, all memory in use
    counts as used by others. Raises GpuError."""
    from kit.compose.client import connect, is_local
    from kit.compose.stats import apart_from

    gpu = choose_gpu(project, asked)
    if is_live(project, asked):
        with suppress(TargetError):
            client = connect(environ)
            if is_local(client):
                return apart_from(client, own_name(project, environ), gpu)
    return gpu


def own_name(project: Project, environ: Mapping[str, str]) -> str:
    """The project's name in Docker."""
    return environ.get("COMPOSE_PROJECT_NAME") or project.manifest.name


def gather(project: Project, gpu: Gpu, locks: bool = True) -> PlanInput:
    """Everything a plan needs; without `locks`, formulas alone price the workers. Raises ModelFilesError with every
    source that cannot be read, each at its line."""
    facts, adapters = facts_of(project), adapters_of(project)
    images = {model.name: image_of(model, gpu.kind == "host") for model in project.manifest.models}
    return PlanInput(project.manifest, facts, gpu, adapters, _locks(project, gpu, images) if locks else {}, images)


def _locks(project: Project, gpu: Gpu, images: Mapping[str, str]) -> dict[str, Measured]:
    """What was measured of these workers, when a lock lies beside the manifest."""
    text = read_text(project.folder / LOCK)
    if text is None:
        return {}
    return measured(from_text(text, LOCK), gpu, wanted(project.manifest, images))


def wanted(manifest: Manifest, images: Mapping[str, str]) -> dict[str, WorkerIdentity]:
    """Service -> what its worker is run as."""
    return {
        service: WorkerIdentity(images[m.name], m.source, m.args, tuple(f"{a.name}={a.source}" for a in m.adapters))
        for m in manifest.models
        for service in services_of(m)
    }


def facts_of(project: Project) -> dict[str, Facts]:
    """The facts of every model, from facts.json beside the manifest first."""
    from kit.facts.hub import gather, read_recorded

    paths: dict[str, KeyPath] = {
        model.source: ("models", i, "source")
        for i, model in enumerate(project.manifest.models)
        if ENGINES[model.engine].PRICED
    }
    recorded = read_recorded(project.folder / "facts.json")
    return gather(list(paths), project.folder, recorded, places=_places(project, paths))


def check_files(project: Project) -> None:
    """What no card serves, as far as it can be said without network and card: of models whose folder is there, or whose
    facts are recorded. Raises KitError at the manifest's lines."""
    from kit.facts.hub import gather, read_recorded
    from kit.planner.refusals import impossible

    recorded = read_recorded(project.folder / "facts.json")
    known: dict[int, str] = {}
    for index, model in enumerate(project.manifest.models):
        if ENGINES[model.engine].PRICED and _is_there(project, model.source, recorded):
            known[index] = model.source
    paths: dict[str, KeyPath] = {source: ("models", index, "source") for index, source in known.items()}
    facts = gather(list(paths), project.folder, recorded, places=_places(project, paths))
    on_cpu = project.manifest.gpu.device == "none"
    models = project.manifest.models
    found = [
        problem
        for index, source in known.items()
        for problem in impossible(index, models[index], facts[source], image_of(models[index], on_cpu))
    ]
    if found:
        raise located(ManifestError(found), project.document)


def _is_there(project: Project, source: str, recorded: Mapping[str, Facts]) -> bool:
    at = parse_source(source)
    return source in recorded or (
        at.kind == "folder" and (project.folder / Path(at.place).expanduser() / "config.json").exists()
    )


def adapters_of(project: Project) -> dict[str, AdapterFacts]:
    """The facts of every adapter, likewise."""
    from kit.facts.hub import gather_adapters, read_recorded_adapters

    paths: dict[str, KeyPath] = {
        adapter.source: ("models", i, "adapters", j, "source")
        for i, model in enumerate(project.manifest.models)
        for j, adapter in enumerate(model.adapters)
    }
    recorded = read_recorded_adapters(project.folder / "facts.json")
    return gather_adapters(list(paths), project.folder, recorded, places=_places(project, paths))


def _places(project: Project, paths: Mapping[str, KeyPath]) -> dict[str, tuple[KeyPath, Mark | None]]:
    return {source: (path, project.document.mark(path)) for source, path in paths.items()}


def planned(project: Project, asked: str | None, locks: bool = True) -> Plan:
    """The plan of a project. Problems point at the manifest's lines. Raises KitError."""
    return planned_for(project, choose_gpu(project, asked), locks)


def planned_for(project: Project, gpu: Gpu, locks: bool = True) -> Plan:
    """The same for a card that was chosen."""
    from kit.planner.advice import plan_or_advise

    try:
        return plan_or_advise(gather(project, gpu, locks))
    except KitError as error:
        raise located(error, project.document) from None


def located(error: KitError, document: Document) -> KitError:
    """The same error with the line of the manifest for every problem that has a path and no line yet."""
    problems = [
        replace(each, mark=document.mark(each.path)) if each.path and not each.mark else each for each in error.problems
    ]
    return type(error)(problems, error.evidence)
