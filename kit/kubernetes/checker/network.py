"""Services, the router's list, and who may ask whom."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from kit.kubernetes.checker.world import COMPONENT, Object, PodView, Rule, World

Found = Iterator[tuple[str, str]]


def _services(world: World) -> Found:
    for name, service in world.of("Service").items():
        where, spec = f"Service/{name}", service["spec"]
        if spec.get("type") not in (None, "ClusterIP") or spec.get("externalIPs"):
            yield where, "it is open to other machines"
        found = world.selected(spec.get("selector") or {}) if spec.get("selector") else []
        if len(found) != 1 or found[0][0].kind == "Job":
            yield where, f"it selects {', '.join(pod.where for pod, _ in found) or 'no pod'}"
            continue
        pod, _ = found[0]
        listening = {port["containerPort"] for one in pod.running for port in one.get("ports") or []}
        for port in spec.get("ports") or []:
            target = port.get("targetPort", port.get("port"))
            if target not in listening:
                yield where, f"targetPort {target} is no port of {pod.where}"
        if not spec.get("ports"):
            yield where, "it has no port"
        if pod.component == "worker" and spec.get("publishNotReadyAddresses") is not True:
            yield where, "while its pod is not ready its name is unknown, its healthy neighbours' too"
    for pod in world.pods:
        if pod.kind == "StatefulSet":
            head = world.of("Service").get(str(pod.owner["spec"].get("serviceName")))
            if head is None or head["spec"].get("clusterIP") != "None":
                yield pod.where, "serviceName is no headless Service"


def _listed(world: World) -> Found:
    """Every worker is in the router's list, of each copy, and the list has nothing else."""
    named: set[tuple[str, str, int | None]] = set()
    lists = [
        (name, json.loads(text)["workers"])
        for name, config in world.of("ConfigMap").items()
        for file, text in (config.get("data") or {}).items()
        if file == "workers.json"
    ]
    for name, workers in lists:
        where = f"ConfigMap/{name}: workers.json"
        ids = [one["id"] for one in workers]
        if len(ids) != len(set(ids)) or len({one["url"] for one in workers}) != len(workers):
            yield where, "an id or a URL is there twice"
        for one in workers:
            target = _target(world, one["url"])
            if target is None:
                yield where, f"{one['url']} is no Service of these"
            else:
                named |= {target}
    if lists:
        yield from _missing(world, named)


def _target(world: World, url: str) -> tuple[str, str, int | None] | None:
    """(workload, container, ordinal) that a URL reaches."""
    at = urlsplit(url)
    service = world.of("Service").get(at.hostname or "")
    if service is None:
        return None
    found = world.selected(service["spec"].get("selector") or {})
    port = next((p for p in service["spec"].get("ports") or [] if p.get("port") == at.port), None)
    if port is None or len(found) != 1:
        return None
    pod, ordinal = found[0]
    for one in pod.running:
        if any(p["containerPort"] == port.get("targetPort", port["port"]) for p in one.get("ports") or []):
            return pod.where, str(one.get("name")), ordinal
    return None


def _missing(world: World, named: set[tuple[str, str, int | None]]) -> Found:
    behind_proxy = {pod.where for pod in world.serving if pod.component == "proxy"}
    tasks = {pod.where: pod.annotations.get("monogpu.task", "").split(",") for pod in world.serving}
    for pod in world.serving:
        proxied = behind_proxy and not any(where == pod.where for where, _, _ in named)
        for number, one in enumerate(pod.workers):
            if proxied or tasks[pod.where][number : number + 1] == ["infer"]:
                continue
            for ordinal in range(pod.copies or 0) if pod.kind == "StatefulSet" else (None,):
                if (pod.where, str(one.get("name")), ordinal) not in named:
                    copy = "" if ordinal is None else f" of copy {ordinal}"
                    yield pod.where, f"the router's list does not name {one.get('name')}{copy}"


def _policies(world: World) -> Found:
    policies = world.of("NetworkPolicy")
    closed = [one for one in policies.values() if _denies(one["spec"])]
    for pod in world.pods:
        if not any(_matches(one["spec"]["podSelector"], pod.labels) for one in closed):
            yield pod.where, "no policy denies what is not listed"
    for name, policy in policies.items():
        spec = policy["spec"]
        chosen = [pod for pod in world.pods if _matches(spec["podSelector"], pod.labels)]
        if not chosen:
            yield f"NetworkPolicy/{name}", "it selects no pod"
        for pod in chosen:
            yield from ((f"NetworkPolicy/{name}", what) for what in _open(world, pod, spec))
    for pod in world.serving:
        if pod.component == "worker" and not _may_ask(world, "router", pod):
            yield pod.where, "no policy lets the router ask it"


def _denies(spec: Object) -> bool:
    """Whether it denies all ingress, and all egress but names."""
    ports = [port.get("port") for rule in spec.get("egress") or [] for port in rule.get("ports") or [{}]]
    both = set(spec.get("policyTypes") or []) == {"Ingress", "Egress"}
    return both and not spec.get("ingress") and all(port == 53 for port in ports)


def _open(world: World, pod: PodView, spec: Object) -> Iterator[str]:
    """What a policy lets in, or out, that it must not."""
    if pod.component == "worker":
        for rule in spec.get("ingress") or []:
            sources = rule.get("from") or [{}]
            labels = [(one.get("podSelector") or {}).get("matchLabels") or {} for one in sources]
            among = [_values(one.get("podSelector") or {}) for one in sources]
            fine = ({label.get(COMPONENT), *values} - {None} for label, values in zip(labels, among, strict=True))
            if any(not names or names - {"router", "proxy"} for names in fine):
                yield f"others than the router may ask {pod.where}"
        if any("ports" not in rule for rule in spec.get("egress") or []):
            yield f"{pod.where} may reach more than names"
    if pod.component == "router" and any(not rule for rule in spec.get("ingress") or []) and not _keyed(world):
        yield f"any pod of the cluster may ask {pod.where}, which has no key"


def _keyed(world: World) -> bool:
    routers = [pod for pod in world.serving if pod.component == "router"]
    keys = [v for pod in routers for one in pod.running for v in one.get("env") or [] if v["name"] == "MONOGPU_API_KEY"]
    files = [volume for pod in routers for volume in pod.volumes.values() if "secret" in volume]
    return bool(keys or files)


def _may_ask(world: World, component: str, pod: PodView) -> bool:
    """Whether policies let pods of a component ask a pod, at both ends."""
    into = out = False
    for policy in world.of("NetworkPolicy").values():
        spec = policy["spec"]
        if _matches(spec["podSelector"], pod.labels):
            into |= any(_names(one, component) for rule in spec.get("ingress") or [] for one in rule.get("from") or [])
        routers = [each for each in world.serving if each.component == component]
        if any(_matches(spec["podSelector"], each.labels) for each in routers):
            out |= any(_names(one, pod.component) for rule in spec.get("egress") or [] for one in rule.get("to") or [])
    return into and out


def _names(peer: Object, component: str) -> bool:
    selector = peer.get("podSelector") or {}
    return component in {(selector.get("matchLabels") or {}).get(COMPONENT), *_values(selector)}


def _values(selector: Object) -> set[str]:
    found = selector.get("matchExpressions") or []
    among = [one for one in found if one.get("key") == COMPONENT and one.get("operator") == "In"]
    return {value for one in among for value in one["values"]}


def _matches(selector: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    exact = all(labels.get(key) == value for key, value in (selector.get("matchLabels") or {}).items())
    among = selector.get("matchExpressions") or []
    return exact and all(labels.get(one["key"]) in one.get("values", []) for one in among)


RULES = (
    Rule("services", "A Service reaches one workload at a port it listens at, also while it is not ready.", _services),
    Rule("listed", "The router's list names every worker of every copy by a Service of these.", _listed),
    Rule("policies", "What is not listed is denied; only the router asks workers; they reach nothing.", _policies),
)
