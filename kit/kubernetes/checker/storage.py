"""Volumes: that they are there, that workers cannot change models, and that one node's volume is not asked of two."""

from __future__ import annotations

from collections.abc import Iterator

from kit.kubernetes.checker.world import POD_NAME, Object, PodView, Rule, World, in_bytes

Found = Iterator[tuple[str, str]]

_CACHE = "models"
_PROJECT = "app.kubernetes.io/part-of"
_KEY = ("api-key", "api-key")
_ANY = ""


def _references(world: World) -> Found:
    claims, configs = world.of("PersistentVolumeClaim"), world.of("ConfigMap")
    for pod in world.pods:
        names = {*pod.volumes, *pod.templates}
        for one in pod.every:
            where = f"{pod.where}: container {one.get('name')}"
            paths = [mount.get("mountPath") for mount in one.get("volumeMounts") or []]
            if len(paths) != len(set(paths)):
                yield where, "two volumes are mounted at one path"
            for mount in one.get("volumeMounts") or []:
                if mount.get("name") not in names:
                    yield where, f"the volume {mount.get('name')} is not there"
                config = (pod.volumes.get(mount.get("name"), {}).get("configMap") or {}).get("name")
                if config in configs and mount.get("subPath", _ANY) not in {*(configs[config].get("data") or {}), _ANY}:
                    yield where, f"the ConfigMap {config} has no {mount['subPath']}"
        used = {mount.get("name") for one in pod.every for mount in one.get("volumeMounts") or []}
        for name in sorted(names - used):
            yield pod.where, f"the volume {name} is mounted by no container"
        for volume in pod.volumes.values():
            claim = (volume.get("persistentVolumeClaim") or {}).get("claimName")
            if claim is not None and claim not in claims and claim not in _of_sets(world):
                yield pod.where, f"the claim {claim} is not there"
            config = (volume.get("configMap") or {}).get("name")
            if "configMap" in volume and config not in configs:
                yield pod.where, f"the ConfigMap {config} is not there"
            secret = volume.get("secret")
            if secret is not None and secret.get("secretName") != f"{pod.labels.get(_PROJECT)}-keys":
                yield pod.where, f"the Secret {secret.get('secretName')} is not the stack's"
            if secret is not None and not int(secret.get("defaultMode", 0o644)) & 0o040:
                yield pod.where, "the key's file cannot be read by its group"
            if secret is not None and [(i.get("key"), i.get("path")) for i in secret.get("items") or []] != [_KEY]:
                yield pod.where, "the key is not where programs read it"


def _of_sets(world: World) -> set[str]:
    """The claims that StatefulSets make: TEMPLATE-SET-ORDINAL. With an autoscaler, those that jobs fill."""
    return {
        f"{template}-{pod.name}-{ordinal}"
        for pod in world.pods
        for template in pod.templates
        for ordinal in range(pod.copies if pod.copies is not None else 64)
    }


def _read_only(world: World) -> Found:
    for pod in world.pods:
        for one in pod.every:
            for mount in one.get("volumeMounts") or []:
                volume = pod.volumes.get(mount["name"], {})
                where = f"{pod.where}: container {one.get('name')}"
                if _is_cache(pod, mount["name"]) and pod.kind != "Job" and mount.get("readOnly") is not True:
                    yield where, "it may change the models that others read"
                if ("configMap" in volume or "secret" in volume) and mount.get("readOnly") is not True:
                    yield where, f"{mount['name']} is not mounted read only"


def _is_cache(pod: PodView, name: str) -> bool:
    claim = (pod.volumes.get(name, {}).get("persistentVolumeClaim") or {}).get("claimName", "")
    return name == _CACHE or str(claim).startswith(_CACHE)


def _modes(world: World) -> Found:
    """A volume of one node is not mounted by the pods of several."""
    for name, claim in world.of("PersistentVolumeClaim").items():
        modes = claim["spec"].get("accessModes") or []
        if len(modes) != 1 or modes[0] not in ("ReadWriteOnce", "ReadWriteMany"):
            yield f"PersistentVolumeClaim/{name}", f"accessModes is {modes}"
        users = [pod for pod in world.pods if name in _claims_of(pod)]
        several = any(pod.kind != "Job" and (pod.copies or 2) > 1 for pod in users)
        if several and modes != ["ReadWriteMany"]:
            yield f"PersistentVolumeClaim/{name}", "pods of several nodes mount it, and it is ReadWriteOnce"
        if modes == ["ReadWriteOnce"] and len(users) > 1:
            for pod in users:
                if not _near_workers(pod):
                    yield pod.where, f"it mounts {name}, which one node may, and goes to any node"
        if in_bytes(claim["spec"]["resources"]["requests"]["storage"]) < 2**30:
            yield f"PersistentVolumeClaim/{name}", "it has no room for a model"
    for pod in world.pods:
        own = [claim for claim in _claims_of(pod) if claim in _of_sets(world)]
        if pod.kind == "Job" and own and not _near_workers(pod):
            yield pod.where, f"it mounts {own[0]}, which a card's pod mounts, and goes to any node"
        for name, claim in pod.templates.items():
            if (claim["spec"].get("accessModes") or []) not in (["ReadWriteOnce"], ["ReadWriteMany"]):
                yield pod.where, f"the claim {name} has accessModes {claim['spec'].get('accessModes')}"
            if in_bytes(claim["spec"]["resources"]["requests"]["storage"]) < 2**30:
                yield pod.where, f"the claim {name} has no room"


def _claims_of(pod: PodView) -> list[str]:
    found = ((one.get("persistentVolumeClaim") or {}).get("claimName") for one in pod.volumes.values())
    return [claim for claim in found if claim]


def _near_workers(pod: PodView) -> bool:
    affinity = (pod.spec.get("affinity") or {}).get("podAffinity") or {}
    for term in affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or []:
        labels = (term.get("labelSelector") or {}).get("matchLabels") or {}
        worker = labels.get("app.kubernetes.io/component") == "worker"
        mine = labels.get("app.kubernetes.io/part-of") == pod.labels.get("app.kubernetes.io/part-of", "")
        if term.get("topologyKey") == "kubernetes.io/hostname" and worker and mine:
            return labels.get(POD_NAME) == (_pod_of(pod) or None)
    return False


def _pod_of(pod: PodView) -> str:
    """The pod of a card whose claim a job mounts: models-card-0 is card-0's."""
    return next((claim.removeprefix(f"{_CACHE}-") for claim in _claims_of(pod) if claim.startswith(f"{_CACHE}-")), "")


def _waits(world: World) -> Found:
    """A worker waits for marks that a job of its volume makes."""
    made: set[str] = set()
    for pod in world.pods:
        for one in pod.every if pod.kind == "Job" else ():
            made |= {str(arg) for arg in one.get("args") or []} if one.get("name") == "mark" else set()
            made |= {str(v["value"]).rpartition("/")[2] for v in one.get("env") or [] if v.get("name") == "MARK"}
    for pod in world.pods:
        for one in pod.every:
            for mark in one.get("args") or [] if one.get("name") == "wait-for-files" else ():
                if mark not in made:
                    yield pod.where, f"it waits for {mark}, which no job makes"
    folders = {
        str(v["value"]).removeprefix("/cache/")
        for pod in world.pods
        for one in pod.every
        for v in one.get("env") or []
        if v.get("name") == "FOLDER"
    }
    for pod in world.pods:
        for one in pod.every:
            for mount in one.get("volumeMounts") or []:
                path = str(mount.get("subPath", ""))
                if not _is_cache(pod, mount["name"]) or mount.get("mountPath") == "/cache":
                    continue
                if not any(path == folder or path.startswith(f"{folder}/") for folder in folders):
                    yield pod.where, f"{mount.get('mountPath')} is {path or 'all'} of the cache, which no upload brings"
    for pod in world.serving:
        cached = any(_is_cache(pod, mount["name"]) for one in pod.running for mount in one.get("volumeMounts") or [])
        if cached and "wait-for-files" not in [one.get("name") for one in pod.inits]:
            yield pod.where, "it reads models, and does not wait until they are there"


def _router_list(world: World) -> Found:
    """A file that is mounted by subPath stays as it was at the start: the router would never learn of a change."""
    for pod in world.serving:
        for one in pod.running if pod.component == "router" else ():
            for mount in one.get("volumeMounts") or []:
                if "configMap" in pod.volumes.get(mount["name"], {}) and "subPath" in mount:
                    yield pod.where, f"{mount['mountPath']} is mounted by subPath, and never changes"
    for pod in world.pods:
        for one in pod.every:
            where = f"{pod.where}: container {one.get('name')}"
            said = [*(one.get("command") or []), *(one.get("args") or [])]
            for path in (str(text) for text in said if str(text).startswith("/etc/")):
                folder, _, name = path.rpartition("/")
                config = _config_at(pod, one, folder)
                if config is None or name not in (world.of("ConfigMap").get(config, {}).get("data") or {}):
                    yield where, f"{path} is in no ConfigMap that it mounts"


def _config_at(pod: PodView, container: Object, folder: str) -> str | None:
    """The ConfigMap that a container mounts at a folder."""
    for mount in container.get("volumeMounts") or []:
        if mount.get("mountPath") == folder:
            return str((pod.volumes.get(mount["name"], {}).get("configMap") or {}).get("name"))
    return None


RULES = (
    Rule("references", "What is mounted is there, once a path.", _references),
    Rule("read-only", "Workers cannot change models, nor anything the kit prints.", _read_only),
    Rule("modes", "A volume of one node is mounted on one node: jobs follow the workers there.", _modes),
    Rule("waits", "A worker waits for its files, and a job makes what it waits for.", _waits),
    Rule(
        "router-list", "Printed files are where programs read them, and the router's list changes there.", _router_list
    ),
)
