"""Mounts of a Compose service as volumes of a pod, without root and without a folder of the node.

What is downloaded is in one volume, mounted at /cache, read only for workers; what workers compile in another, at
/compiled, a folder for each. Folders of this machine are uploaded into the first, one Job each. A file that the kit
prints is in a ConfigMap. /tmp and /dev/shm are each container's own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from kit.kubernetes.layout import ClusterLayout
from kit.kubernetes.names import CACHE, COMPILED, Keys, dns_label, role_of, secret_of
from kit.memory.bill import Plan
from kit.routers.smg import KEY_FILE
from kit.stack.model import Mount, Service
from kit.stack.render import checksum
from kit.stack.yaml_lines import Flow, Node
from kit.units import GIB, MIB

CACHE_PATH, COMPILED_PATH = "/cache", "/compiled"
DONE = f"{CACHE_PATH}/.complete"  # holds a file for each download and upload that is complete
COMPILED_BYTES = 10 * GIB
# Volumes of Compose that are folders of a volume here. Ollama keeps what it pulls where OLLAMA_MODELS says.
_CACHED = ("huggingface", "ollama")


@dataclass(frozen=True)
class Upload:
    """A file or folder of this machine, `source` as the manifest has it, that lies in the cache's `folder`."""

    source: str
    folder: str

    @property
    def job(self) -> str:
        return f"upload-{self.folder}"

    @property
    def is_file(self) -> bool:
        """By its name: no folder is read when files are printed."""
        return PurePosixPath(self.source).suffix in (".gguf", ".json", ".jinja", ".txt")

    @property
    def path(self) -> str:
        """Where it is read: a folder itself, a file inside of it."""
        name = PurePosixPath(self.source).name
        return f"folders/{self.folder}/{name}" if self.is_file else f"folders/{self.folder}"


def upload_of(mount: Mount, files: Iterable[str]) -> Upload | None:
    """What must be uploaded for a mount; None for printed files, keys and volumes."""
    if mount.kind != "bind" or mount.target == KEY_FILE or config_of(mount, files):
        return None
    name = dns_label(PurePosixPath(mount.source).name)[:24].rstrip("-")
    return Upload(mount.source, f"{name}-{checksum(mount.source)[:6]}")


def uploads(layout: ClusterLayout, services: Iterable[Service]) -> tuple[Upload, ...]:
    """What services need of this machine, once each."""
    files = [file.path for file in layout.stack.files]
    found = (upload_of(mount, files) for one in services for mount in one.mounts)
    return tuple(dict.fromkeys(each for each in found if each))


def config_of(mount: Mount, files: Iterable[str]) -> tuple[str, str] | None:
    """(ConfigMap, key) of printed files that are mounted; the key is "" for all of a folder."""
    if mount.kind != "bind":
        return None
    path = mount.source.removeprefix("./")
    if any(file.startswith(f"{path}/") for file in files):
        return dns_label(path), ""
    folder, _, name = path.rpartition("/")
    return (dns_label(folder), name) if path in files else None


@dataclass(frozen=True)
class MountedVolumes:
    """What one container mounts, and the volumes that its pod needs for it, by name."""

    mounts: tuple[Keys, ...]
    volumes: Mapping[str, Keys]


def volumes_of(service: Service, layout: ClusterLayout, index: int | None = None) -> MountedVolumes:
    """A service's mounts. `index` is the card of a pod whose volumes are not claimed by its StatefulSet: a Job's."""
    files = [file.path for file in layout.stack.files]
    mounts: dict[str, Keys] = {}
    volumes: dict[str, Keys] = {}
    shared: list[Mount] = [Mount("tmpfs", "size=2147483648", "/tmp"), *service.mounts]
    for mount in shared:
        name, volume, at = _volume(service, mount, layout, files, index)
        volumes[name] = volume
        mounts[str(at["mountPath"])] = {"name": name, **at}
    if service.shm_bytes:
        name = f"shm-{service.name}"
        volumes[name] = {"emptyDir": Flow({"medium": "Memory", "sizeLimit": quantity(service.shm_bytes)})}
        mounts["/dev/shm"] = {"name": name, "mountPath": "/dev/shm"}
    return MountedVolumes(tuple(mounts.values()), volumes)


def _volume(
    service: Service, mount: Mount, layout: ClusterLayout, files: list[str], index: int | None
) -> tuple[str, Keys, Keys]:
    """(name, volume, mount) of one mount."""
    if mount.kind == "tmpfs":
        size = re.search(r"size=(\d+)", mount.source)
        limit: Keys = {"sizeLimit": quantity(int(size.group(1)))} if size else {}
        name = f"{dns_label(mount.target)}-{service.name}"
        return name, {"emptyDir": Flow(limit)}, {"mountPath": mount.target}
    if mount.target == KEY_FILE:
        folder, _, key = KEY_FILE.rpartition("/")
        secret: Keys = {"secretName": secret_of(layout.project), "items": [Flow({"key": key, "path": key})]}
        return "keys", {"secret": {**secret, "defaultMode": 0o440}}, {"mountPath": folder, "readOnly": True}
    if configured := config_of(mount, files):
        config, key = configured
        at: Keys = {"mountPath": mount.target, "readOnly": True}
        return config, {"configMap": Flow({"name": config})}, at | ({"subPath": key} if key else {})
    if mount.kind == "volume" and mount.source not in _CACHED:
        return COMPILED, claim_volume(COMPILED, layout, index), {"mountPath": COMPILED_PATH}
    read_only = role_of(service) != "download"
    if upload := upload_of(mount, files):
        where: Keys = {"mountPath": mount.target, "subPath": upload.path, "readOnly": True}
        return CACHE, claim_volume(CACHE, layout, index), where
    return CACHE, claim_volume(CACHE, layout, index), cache_mount(read_only)


def cache_mount(read_only: bool) -> Keys:
    return {"mountPath": CACHE_PATH, **({"readOnly": True} if read_only else {})}


def claim_volume(name: str, layout: ClusterLayout, index: int | None) -> Keys:
    """A volume by its claim: of all cards, or of one: those of a StatefulSet are called after its pods."""
    own = index is not None and not (layout.shared_cache and name == CACHE)
    return {"persistentVolumeClaim": Flow({"claimName": f"{name}-card-{index}" if own else name})}


def quantity(count: int) -> str:
    """Bytes as Kubernetes writes them, never rounded down."""
    for unit, size in (("Gi", GIB), ("Mi", MIB)):
        if count % size == 0:
            return f"{count // size}{unit}"
    return f"{-(-count // MIB)}Mi"


def claims(layout: ClusterLayout) -> dict[str, Keys]:
    """Name -> spec of the volumes that hold models and what is compiled."""
    settings = layout.settings
    cls: Keys = {"storageClassName": settings.storage_class} if settings.storage_class else {}
    cached = settings.cache_size or cache_bytes(layout)
    found: dict[str, Keys] = {CACHE: _claim(settings.access_mode, cached, cls)}
    if any(mount.kind == "volume" and mount.source not in _CACHED for one in layout.workers for mount in one.mounts):
        found[COMPILED] = _claim("ReadWriteOnce", COMPILED_BYTES, cls)
    return found


def _claim(mode: str, count: int, cls: Keys) -> Keys:
    asked: Node = {"requests": Flow({"storage": quantity(count)})}
    return {"accessModes": Flow([mode]), **cls, "resources": asked}


def cache_bytes(layout: ClusterLayout) -> int:
    """Room for the weights in their files, half as much again for other precisions, and 2 GiB: in whole GiB."""
    return (-(-weight_bytes(layout.plan) * 3 // (2 * GIB)) + 2) * GIB


def weight_bytes(plan: Plan) -> int:
    """What the weights take on the card: about what their files take."""
    return sum(share.bytes_of("weights", "adapters", "fixed", "measured") for share in plan.shares)
