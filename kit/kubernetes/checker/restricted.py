"""Pod Security, level `restricted`: kubernetes.io/docs/concepts/security/pod-security-standards. A namespace with these
labels refuses such pods when they are made, long after their Deployment was accepted."""

from __future__ import annotations

from collections.abc import Iterator

from kit.kubernetes.checker.world import Object, PodView, Rule, World, containers

Found = Iterator[tuple[str, str]]

_VOLUMES = {
    "configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "image", "persistentVolumeClaim", "projected", "secret",
}  # fmt: skip


def _of(pod: PodView, container: Object, key: str) -> object:
    """A setting of a container, or of its pod where the container has none."""
    own = (container.get("securityContext") or {}).get(key)
    return own if own is not None else (pod.spec.get("securityContext") or {}).get(key)


def _root(world: World) -> Found:
    for pod, one, where in containers(world):
        if _of(pod, one, "runAsNonRoot") is not True:
            yield where, "runAsNonRoot is not true"
        for key in ("runAsUser", "runAsGroup"):
            said = _of(pod, one, key)
            if not isinstance(said, int) or said == 0:
                yield where, f"{key} is {said!r}"


def _seccomp(world: World) -> Found:
    for pod, one, where in containers(world):
        profile = _of(pod, one, "seccompProfile")
        if not isinstance(profile, dict) or profile.get("type") not in ("RuntimeDefault", "Localhost"):
            yield where, "no seccomp profile"


def _capabilities(world: World) -> Found:
    for _, one, where in containers(world):
        said = (one.get("securityContext") or {}).get("capabilities") or {}
        if "ALL" not in (said.get("drop") or []):
            yield where, "capabilities are not dropped"
        if set(said.get("add") or []) - {"NET_BIND_SERVICE"}:
            yield where, f"capabilities are added: {said['add']}"


def _escalation(world: World) -> Found:
    for _, one, where in containers(world):
        said = one.get("securityContext") or {}
        if said.get("allowPrivilegeEscalation") is not False:
            yield where, "allowPrivilegeEscalation is not false"
        if said.get("privileged"):
            yield where, "it is privileged"
        if said.get("procMount") not in (None, "Default"):
            yield where, f"procMount is {said['procMount']}"


def _host(world: World) -> Found:
    for pod in world.pods:
        for key in ("hostNetwork", "hostPID", "hostIPC"):
            if pod.spec.get(key):
                yield pod.where, f"{key} is set"
        if (pod.spec.get("securityContext") or {}).get("sysctls"):
            yield pod.where, "sysctls are set"
        for name, volume in pod.volumes.items():
            kinds = set(volume) - {"name"}
            if len(kinds) != 1 or kinds - _VOLUMES:
                yield pod.where, f"the volume {name} is of {', '.join(sorted(kinds)) or 'no kind'}"
    for _, one, where in containers(world):
        if any(port.get("hostPort") for port in one.get("ports") or []):
            yield where, "it takes a port of the host"


def _namespace(world: World) -> Found:
    spaces = world.of("Namespace")
    for name, space in spaces.items():
        labels = space["metadata"].get("labels") or {}
        for mode in ("enforce", "warn", "audit"):
            if labels.get(f"pod-security.kubernetes.io/{mode}") != "restricted":
                yield f"Namespace/{name}", f"it does not {mode} the level restricted"
    for one in world.objects:
        if one["kind"] != "Namespace" and one["metadata"].get("namespace") not in spaces:
            yield f"{one['kind']}/{one['metadata']['name']}", "it is in none of the printed namespaces"


def _tokens(world: World) -> Found:
    for pod in world.pods:
        if pod.spec.get("automountServiceAccountToken") is not False:
            yield pod.where, "a token of the API server is mounted into it"
        if pod.spec.get("enableServiceLinks") is not False:
            yield pod.where, "Services become variables: one called vllm sets VLLM_PORT"


RULES = (
    Rule("non-root", "No container runs as root.", _root),
    Rule("seccomp", "Every container has a seccomp profile.", _seccomp),
    Rule("capabilities", "Every container drops ALL capabilities.", _capabilities),
    Rule("escalation", "No container gains privileges.", _escalation),
    Rule("host", "Nothing of the node is used: its network, processes, folders, ports.", _host),
    Rule("namespace", "All is in one printed namespace, which enforces the level restricted.", _namespace),
    Rule("tokens", "No pod gets a token of the API server, or variables of Services.", _tokens),
)
