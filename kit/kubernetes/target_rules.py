"""What the manifest says to this target: the shape that it asks for, and what cannot be printed, at its line. Pure.

Most of it is about folders of a node: Pod Security's level `restricted` refuses them, and a pod goes to any
node. A folder of this machine is uploaded instead, and then read only. The others are about one pod with all workers,
whose containers share their ports.
"""

from __future__ import annotations

from collections.abc import Iterator

from kit.errors import KeyPath, ManifestError, Problem
from kit.manifest.kubernetes import Shape
from kit.manifest.model import Manifest
from kit.units import size

TARGET = "--target kubernetes"


def shape_of(manifest: Manifest) -> Shape:
    """What shape: auto means."""
    said = manifest.kubernetes
    if said.shape != "auto":
        return said.shape
    in_turn = "start" in manifest.model_fields_set and manifest.start == "sequential"
    return "pod-per-card" if said.copies > 1 or in_turn else "deployment-per-model"


def refuse(manifest: Manifest, weights: int = 0) -> None:
    """Raises ManifestError with every key that this target refuses; `weights` are the models' bytes."""
    found = [Problem(what, needed, path=path) for path, what, needed in _refused(manifest)]
    room = manifest.kubernetes.cache_size
    if room is not None and room < weights:
        what = f"{size(room)} do not hold the models, whose weights take {size(weights)}"
        found.append(Problem(what, "remove cache_size, or set a larger one", path=("kubernetes", "cache_size")))
    if found:
        raise ManifestError(found)


def _refused(manifest: Manifest) -> Iterator[tuple[KeyPath, str, str]]:
    if manifest.gpu.mps:
        needed = "remove mps; the driver's own MPS sharing in a claim is alpha, and not measured here"
        yield ("gpu", "mps"), f"{TARGET} prints no MPS daemon: its socket is a folder of the node", needed
    for index, model in enumerate(manifest.models):
        for number, volume in enumerate(model.volumes):
            source, _, *mode = volume.split(":")
            path = ("models", index, "volumes", number)
            if not source.startswith((".", "/", "~")):
                yield path, f"{TARGET} has no volume called {source}", "needed: a folder to upload, ./folder:/path:ro"
            elif mode != ["ro"]:
                what = f"{TARGET} mounts no folder of a node, and an uploaded one is read only"
                yield path, what, f"needed: {volume.rstrip(':rw')}:ro"
    if shape_of(manifest) == "pod-per-card":
        yield from _in_one_pod(manifest)


def _in_one_pod(manifest: Manifest) -> Iterator[tuple[KeyPath, str, str]]:
    """Containers of a pod share their ports, and only vLLM's is given to it."""
    needed = "needed: kubernetes: {shape: deployment-per-model}, without copies and start: sequential"
    for index, model in enumerate(manifest.models):
        if model.engine == "ollama":
            yield ("models", index, "engine"), "Ollama and its proxy listen at one port, and share one pod here", needed
    tritons = [index for index, model in enumerate(manifest.models) if model.engine == "triton"]
    for index in tritons[1:]:
        yield ("models", index, "engine"), "a second Triton in a pod would listen at the first one's ports", needed
