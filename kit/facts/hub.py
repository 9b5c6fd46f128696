"""Facts from where the files are: a recorded facts.json, a folder, or a repository on the Hugging Face Hub.

From the Hub come the small JSON files and the headers of the weights, by ranged reads; never the weights. Errors of the
client become one sentence: what happened, and what to do.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar, cast

from kit.errors import KeyPath, Mark, ModelFilesError, Problem
from kit.facts.config_fields import unusable
from kit.facts.facts import AdapterFacts, Facts, Header, adapter_from_config, from_config
from kit.facts.facts_json import read_recorded, read_recorded_adapters, record
from kit.facts.local import (
    ASKED,
    ModelFolder,
    no_model,
    read_folder,
    read_json,
    whole,
)
from kit.facts.tensors import adapter_files, weight_files
from kit.manifest.fields import Source, parse_source
from kit.manifest.validators import Refused

__all__ = ["gather", "gather_adapters", "load", "load_adapter", "read_recorded", "read_recorded_adapters", "record"]

T = TypeVar("T")
Places = Mapping[str, tuple[KeyPath, Mark | None]]
"""Where the manifest names each source: its path and its mark, for the problems."""

WITHOUT_NETWORK = "without network, give a folder with the model, or a facts.json beside the manifest"
SECONDS = 20
# What vLLM looks for beside adapter_config.json (lora/lora_model.py).
ADAPTER_WEIGHTS = ("adapter_model.safetensors", "adapter_model.bin", "adapter_model.pt")
Chooser = Callable[[Sequence[str]], list[str]]
"""Of a place's files, those whose headers are read."""


class UnreachableError(ModelFilesError):
    """The Hub did not answer; a download in the cache may do."""


@dataclass(frozen=True)
class Hub:
    """A client (huggingface_hub.HfApi or what behaves like it), and its cache: None is the user's own."""

    api: Any
    cache: Path | None = None


def default_hub() -> Hub:
    """The user's own: HF_TOKEN, HF_ENDPOINT, HF_HOME and HF_HUB_OFFLINE count as everywhere."""
    from huggingface_hub import HfApi
    from huggingface_hub.utils.tqdm import disable_progress_bars

    disable_progress_bars()
    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)
    return Hub(HfApi(library_name="monogpu-kit"))


def gather(
    models: Sequence[str],
    folder: Path,
    recorded: Mapping[str, Facts],
    hub: Hub | None = None,
    places: Places | None = None,
) -> dict[str, Facts]:
    """The facts of every source, recorded ones first. `folder` is the manifest's: relative paths start there.
    Raises ModelFilesError with the problems of all sources at once, each at its place in the manifest."""
    return _gather(models, recorded, places or {}, lambda text: load(text, folder, hub))


def gather_adapters(
    adapters: Sequence[str],
    folder: Path,
    recorded: Mapping[str, AdapterFacts],
    hub: Hub | None = None,
    places: Places | None = None,
) -> dict[str, AdapterFacts]:
    """The same for LoRA adapters."""
    return _gather(adapters, recorded, places or {}, lambda text: load_adapter(text, folder, hub))


def load(text: str, folder: Path, hub: Hub | None = None) -> Facts:
    """One model from its source text. Raises ModelFilesError."""
    files, revision = _files(_source(text), text, folder, hub)
    if "config.json" not in files.small:
        raise no_model(text, files.names)
    try:
        return from_config(text, revision, files.config(), files.headers, *files.beside())
    except ModelFilesError as error:
        raise ModelFilesError(replace(problem, hint=files.unreadable()) for problem in error.problems) from error


def load_adapter(text: str, folder: Path, hub: Hub | None = None) -> AdapterFacts:
    """One LoRA adapter from its source text. Raises ModelFilesError."""
    files, revision = _files(_source(text), text, folder, hub, adapter_files)
    if "adapter_config.json" not in files.small:
        raise unusable(text, "no adapter_config.json there", "a folder or repository that PEFT wrote")
    if not any(name in files.names for name in ADAPTER_WEIGHTS):
        raise unusable(text, "no adapter_model.safetensors there", "a folder or repository that PEFT wrote, whole")
    return adapter_from_config(text, revision, files.small["adapter_config.json"], files.headers)


def _gather(
    texts: Sequence[str], recorded: Mapping[str, T], places: Places, load_one: Callable[[str], T]
) -> dict[str, T]:
    found: dict[str, T] = {}
    problems: list[Problem] = []
    evidence: list[str] = []
    for text in dict.fromkeys(texts):
        try:
            found[text] = recorded[text] if text in recorded else load_one(text)
        except ModelFilesError as error:
            path, mark = places.get(text, ((), None))
            problems += [replace(problem, path=path, mark=mark) for problem in error.problems]
            evidence += [error.evidence] if error.evidence else []
    if problems:
        raise ModelFilesError(problems, "\n".join(evidence))
    return found


def _source(text: str) -> Source:
    try:
        return parse_source(text)
    except Refused as error:
        raise ModelFilesError(Problem(error.what, error.needed, error.hint)) from error


def _files(
    source: Source, text: str, folder: Path, hub: Hub | None, weights: Chooser = weight_files
) -> tuple[ModelFolder, str | None]:
    """What the place holds, and its commit where it has one."""
    if source.kind == "folder":
        return read_folder(text, folder / Path(source.place).expanduser(), weights), None
    hub = hub or default_hub()
    try:
        return _from_hub(source, text, hub, weights)
    except UnreachableError:
        cached = _cached(source, hub)
        if cached is None:
            raise
        return read_folder(text, cached, weights), cached.name


def _from_hub(source: Source, text: str, hub: Hub, weights: Chooser) -> tuple[ModelFolder, str | None]:
    def ask(call: Callable[[], T]) -> T:
        return ask_hub(source, text, hub, call)

    repo = source.place
    info = ask(lambda: hub.api.model_info(repo, revision=source.revision, timeout=SECONDS))
    names = tuple(sorted(str(sibling.rfilename) for sibling in info.siblings or ()))

    def small(name: str) -> Path:
        got = ask(lambda: hub.api.hf_hub_download(repo, name, revision=info.sha, cache_dir=hub.cache))
        return Path(str(got))

    def header(name: str) -> Header:
        got = ask(lambda: hub.api.parse_safetensors_file_metadata(repo, name, revision=info.sha))
        return {tensor: (str(said.dtype), tuple(said.shape)) for tensor, said in got.tensors.items()}

    wanted = {name: read_json(text, small(name)) for name in ASKED if name in names}
    files = weights(names)
    whole(text, files)
    with ThreadPoolExecutor(8) as pool:
        headers = [entry for part in pool.map(header, files) for entry in part.items()]
    return ModelFolder(names, wanted, dict(headers) or None), info.sha


def _cached(source: Source, hub: Hub) -> Path | None:
    """The folder of this revision in the client's cache, when an earlier download left it there."""
    try:
        kept = {"revision": source.revision, "cache_dir": hub.cache, "local_files_only": True}
        return Path(hub.api.snapshot_download(source.place, **kept))
    except (OSError, ValueError):
        return None


def ask_hub(source: Source, text: str, hub: Hub, call: Callable[[], T]) -> T:
    """`call()`, with the client's errors as ModelFilesError or UnreachableError."""
    try:
        return call()
    except Exception as error:
        raise _said(source, text, hub, error) from error


def _said(source: Source, text: str, hub: Hub, error: Exception) -> ModelFilesError:
    """What happened and what to do, by the client's classes; the order matters: some derive from others."""
    from huggingface_hub import errors

    page = f"{hub.api.endpoint}/{source.place}"
    if isinstance(error, errors.GatedRepoError):
        needed = f"accept its terms at {page}, then set HF_TOKEN to a token of that account"
        return unusable(text, "the repository is gated, and this account may not read it", needed)
    if isinstance(error, errors.RepositoryNotFoundError):
        needed = "check its spelling; a private one needs HF_TOKEN"
        return unusable(text, "no such repository on the Hub", needed, _nearest(source, hub))
    if isinstance(error, errors.RevisionNotFoundError):
        needed = f"a branch, tag or commit that {page}/commits/main lists"
        return unusable(text, f"the repository has no revision {source.revision!r}", needed)
    if isinstance(error, errors.SafetensorsParsingError):
        return unusable(text, f"a weight file's header cannot be read: {_first_line(error)}", f"see {page}")
    if isinstance(error, errors.LocalEntryNotFoundError | errors.OfflineModeIsEnabled):
        return _unreachable(text, "the Hub cannot be asked", "", error)
    if isinstance(error, errors.HfHubHTTPError):
        return _refusal(text, error)
    # The base of the HTTP library's own errors; which library that is differs between versions of the client.
    if isinstance(error, OSError | cast("type[Exception]", errors.HfHubHTTPError.__bases__[0])):
        return _unreachable(text, "the Hub does not answer", "", error)
    return _unreachable(
        text, f"what answers at {hub.api.endpoint} is not the Hub", "check proxy and HF_ENDPOINT; ", error
    )


def _refusal(text: str, error: Any) -> ModelFilesError:
    """An HTTP status that no class of the client names."""
    status = int(getattr(error.response, "status_code", 0))
    if status in (401, 403):
        needed = "set HF_TOKEN to a valid token that may read this repository"
        return unusable(text, "the Hub refuses the token", needed)
    what = "too many requests, says the Hub" if status == 429 else f"the Hub answered with status {status}"
    return _unreachable(text, what, "try again later; ", error)


def _unreachable(text: str, what: str, needed: str, error: Exception) -> UnreachableError:
    problem = Problem(f"{text}: {what}", f"{needed}{WITHOUT_NETWORK}")
    return UnreachableError(problem, f"{type(error).__name__}: {_first_line(error)}")


def _first_line(error: BaseException) -> str:
    return next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)


def _nearest(source: Source, hub: Hub) -> str:
    """`did you mean`, by the Hub's own search for the name; "" when there is nothing near."""
    name = source.place.split("/")[-1]
    try:
        known = [str(each.id) for each in hub.api.list_models(search=name, limit=20)]
    except Exception:  # a hint is optional
        return ""
    near = get_close_matches(source.place, known, 1, 0.6)
    return f"did you mean {near[0]}?" if near else ""
