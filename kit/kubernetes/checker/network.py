"""Services, and the router's list."""

from __future__ import annotations

import json
from collections.abc import Iterator
from urllib.parse import urlsplit

from kit.kubernetes.checker.world import POD_NAME, Object, Rule, World

Found = Iterator[tuple[str, str]]

_PROJECT = "app.kubernetes.io/part-of"


def _services(world: World) -> Found:
    for name, service in world.of("Service").items():
        where, spec = f"Service/{name}", service["spec"]
        if spec.get("type") not in (None, "ClusterIP") or spec.get("externalIPs"):
            yield where, "it is open to other machines"
        selector = spec.get("selector") or {}
        found = world.selected(selector) if {_PROJECT, POD_NAME} & set(selector) else []
        if len(found) != 1 or found[0][0].kind == "Job":
            yield where, f"it selects {', '.join(pod.where for pod, _ in found) or 'no pod'}"
            continue
        pod, _ = found[0]
        listening = {port["containerPort"] for one in pod.running for port in one.get("ports") or []}
        for port in spec.get("ports") or []:
            target = port.get("targetPort", port.get("port"))
            if target not in listening:
                yield where, f"targetPort {target} is no port of {pod.where}"
        numbers = [port.get("port") for port in spec.get("ports") or []]
        if not numbers or len(numbers) != len(set(numbers)):
            yield where, f"its ports are {numbers}"
        if any(
            port.get("targetPort", port["port"]) not in numbers for port in spec.get("ports") or [] if _is_head(spec)
        ):
            yield where, "a headless Service has no other ports than its pods"
        if pod.component in ("worker", "proxy") and spec.get("publishNotReadyAddresses") is not True:
            yield where, "while its pod is not ready its name is unknown, its healthy neighbours' too"
    for pod in world.pods:
        if pod.kind == "StatefulSet":
            head = world.of("Service").get(str(pod.owner["spec"].get("serviceName")))
            if head is None or head["spec"].get("clusterIP") != "None":
                yield pod.where, "serviceName is no headless Service"


def _is_head(spec: Object) -> bool:
    return spec.get("clusterIP") == "None"


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


RULES = (
    Rule("services", "A Service reaches one workload at a port it listens at, also while it is not ready.", _services),
    Rule("listed", "The router's list names every worker of every copy by a Service of these.", _listed),
)
