"""Getting an image, with progress."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kit.compose.client import (
    refused,
    translate_errors,
)
from kit.compose.events import Pulling, Watch
from kit.errors import Problem, TargetError

if TYPE_CHECKING:
    from docker import DockerClient

Layers = Mapping[str, tuple[int, int]]
OURS = "monogpu/"


def pull(client: DockerClient, image: str, watch: Watch) -> str:
    """Downloads `image` and returns its id. Raises TargetError with the registry's words."""
    if image.startswith(OURS):
        raise TargetError(
            Problem(f"the image {image} is not on this machine", "no registry has it", build_words(image))
        )
    from docker.utils import parse_repository_tag

    repository, tag = parse_repository_tag(image)
    failed = f"{image} cannot be pulled"
    layers: Layers = {}
    watch(Pulling(image, 0, 0))
    with translate_errors(failed):
        for message in client.api.pull(repository, tag=tag or "latest", stream=True, decode=True):
            if "error" in message:
                raise refused(failed, str(message["error"]))
            layers = advance(layers, message)
            watch(Pulling(image, *progress(layers)))
        return str(client.images.get(image).id)


def build_words(image: str) -> str:
    """Which command makes one of the kit's own images."""
    return f"`scripts/build-images` builds {image}"


def advance(layers: Layers, message: Mapping[str, Any]) -> Layers:
    """Layer -> (bytes here, bytes in all), after one more message of the Engine. Unpacking counts as here."""
    layer, status, detail = message.get("id"), message.get("status", ""), message.get("progressDetail") or {}
    if not layer:
        return layers
    done, total = layers.get(layer, (0, 0))
    if status == "Downloading" and detail.get("total"):
        return {**layers, layer: (detail.get("current", 0), detail["total"])}
    if status in ("Download complete", "Pull complete", "Verifying Checksum"):
        return {**layers, layer: (total, total)}
    return {**layers, layer: (done, total)} if status == "Pulling fs layer" else layers


def progress(layers: Layers) -> tuple[int, int]:
    """Bytes here, and bytes in all, as far as the registry has told."""
    return sum(done for done, _ in layers.values()), sum(total for _, total in layers.values())
