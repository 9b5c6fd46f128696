"""Network policies: what is not listed is denied, and what a stack needs is listed at both ends."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kit.kubernetes.checker.world import COMPONENT, Object, PodView, Rule, World

Found = Iterator[tuple[str, str]]

_PROJECT = "app.kubernetes.io/part-of"
_ANY: Object = {"podSelector": {}}  # the pods of the namespace


def _policies(world: World) -> Found:
    policies = world.of("NetworkPolicy")
    closed = [one for one in policies.values() if _denies(one["spec"])]
    for pod in world.pods:
        if not any(_matches(one["spec"]["podSelector"], pod.labels) for one in closed):
            yield pod.where, "no policy denies what is not listed"
    for name, policy in policies.items():
        yield from ((f"NetworkPolicy/{name}", what) for what in _policy(world, policy))
    for pod in world.serving:
        if pod.component == "worker" and not _may_ask(world, "router", pod):
            yield pod.where, "no policy lets the router ask it"
        if pod.component == "router" and not _reachable(world, pod):
            yield pod.where, "no policy lets anything ask it"
        if pod.component == "router" and len(_of(world, "router")) > 1 and not _may_ask(world, "router", pod):
            yield pod.where, "no policy lets the other router ask it"
        if pod.component == "proxy" and not (_may_ask(world, "router", pod) and _reaches(world, pod, "worker")):
            yield pod.where, "no policy lets it stand between the router and a worker"
    for pod in world.pods:
        downloads = any("HF_TOKEN" in str(one.get("env")) or "ollama" in str(one.get("env")) for one in pod.every)
        if pod.kind == "Job" and downloads and not any(_anywhere(one["spec"], pod) for one in policies.values()):
            yield pod.where, "no policy lets it reach what it downloads"


def _policy(world: World, policy: Object) -> Iterator[str]:
    """What is wrong with one policy by itself, and with what it lets pass."""
    spec = policy["spec"]
    chosen = [pod for pod in world.pods if _matches(spec["podSelector"], pod.labels)]
    if not chosen:
        yield "it selects no pod"
    if _PROJECT not in (spec["podSelector"].get("matchLabels") or {}):
        yield "it holds for pods of others too"
    projects = {pod.labels.get(_PROJECT) for pod in chosen}
    kinds = {"Ingress": "ingress", "Egress": "egress"}
    types = spec.get("policyTypes") or []
    if not types or set(types) - set(kinds):
        yield f"policyTypes is {types}"
    if any(key in spec and kind not in types for kind, key in kinds.items()):
        yield "it has rules of a type that it does not name"
    if not _denies(spec) and COMPONENT not in (spec["podSelector"].get("matchLabels") or {}):
        yield "it opens pods of every component"
    for rule in (*(spec.get("ingress") or []), *(spec.get("egress") or [])):
        for peer in (*(rule.get("from") or []), *(rule.get("to") or [])):
            selector = peer.get("podSelector")
            if selector and _PROJECT not in (selector.get("matchLabels") or {}):
                yield "it names pods of others too"
            if selector and _values(selector) - {"router", "proxy", "worker"}:
                yield f"it names {sorted(_values(selector))}"
            if selector and (selector.get("matchLabels") or {}).get(_PROJECT) not in projects:
                yield "it names pods of another stack"
            if selector == {} and peer in (rule.get("to") or []):
                yield "it lets pods reach every pod of the namespace"
            if selector is None and peer != {"namespaceSelector": {}}:
                yield f"it names {peer}"
    for pod in chosen:
        yield from _open(world, pod, spec)


def _of(world: World, component: str) -> list[PodView]:
    return [pod for pod in world.serving if pod.component == component]


def _reachable(world: World, pod: PodView) -> bool:
    """Whether clients may ask it: a rule without sources, or with pods of the namespace."""
    return any(
        not rule or {"podSelector": {}} in (rule.get("from") or [])
        for policy in world.of("NetworkPolicy").values()
        if _matches(policy["spec"]["podSelector"], pod.labels)
        for rule in policy["spec"].get("ingress") or []
    )


def _reaches(world: World, pod: PodView, component: str) -> bool:
    return any(
        _names(peer, component)
        for policy in world.of("NetworkPolicy").values()
        if _matches(policy["spec"]["podSelector"], pod.labels)
        for rule in policy["spec"].get("egress") or []
        for peer in rule.get("to") or []
    )


def _anywhere(spec: Object, pod: PodView) -> bool:
    return _matches(spec["podSelector"], pod.labels) and {} in (spec.get("egress") or [])


def _denies(spec: Object) -> bool:
    """Whether it denies all ingress, and all egress but the names of every namespace's resolver."""
    rules = spec.get("egress") or []
    ports = {(port.get("protocol"), port.get("port")) for rule in rules for port in rule.get("ports") or [{}]}
    both = set(spec.get("policyTypes") or []) == {"Ingress", "Egress"}
    names = ports == {("UDP", 53), ("TCP", 53)} and all(rule.get("to") for rule in rules)
    return both and not spec.get("ingress") and names


def _open(world: World, pod: PodView, spec: Object) -> Iterator[str]:
    """What a policy lets in, or out, that it must not."""
    if pod.component in ("worker", "proxy"):
        for rule in spec.get("ingress") or []:
            sources = rule.get("from") or [{}]
            labels = [(one.get("podSelector") or {}).get("matchLabels") or {} for one in sources]
            among = [_values(one.get("podSelector") or {}) for one in sources]
            fine = ({label.get(COMPONENT), *values} - {None} for label, values in zip(labels, among, strict=True))
            if any(not names or names - {"router", "proxy"} for names in fine):
                yield f"others than the router may ask {pod.where}"
        if pod.component == "worker" and any("ports" not in rule for rule in spec.get("egress") or []):
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
            into |= any(
                _names(one, component) for rule in spec.get("ingress") or [] for one in rule.get("from") or [_ANY]
            )
        routers = [each for each in world.serving if each.component == component]
        if any(_matches(spec["podSelector"], each.labels) for each in routers):
            out |= any(_names(one, pod.component) for rule in spec.get("egress") or [] for one in rule.get("to") or [])
    return into and out


def _names(peer: Object, component: str) -> bool:
    selector = peer.get("podSelector") or {}
    return peer == _ANY or component in {(selector.get("matchLabels") or {}).get(COMPONENT), *_values(selector)}


def _values(selector: Object) -> set[str]:
    found = selector.get("matchExpressions") or []
    among = [one for one in found if one.get("key") == COMPONENT and one.get("operator") == "In"]
    return {value for one in among for value in one["values"]}


def _matches(selector: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    exact = all(labels.get(key) == value for key, value in (selector.get("matchLabels") or {}).items())
    among = selector.get("matchExpressions") or []
    return exact and all(labels.get(one["key"]) in one.get("values", []) for one in among)


RULES = (Rule("policies", "What is not listed is denied; only routers ask workers, which reach nothing.", _policies),)
