"""Services, network policies and disruption budgets.

A policy is enforced by the cluster's network plug-in, where it has any: every API server takes it.
"""

from __future__ import annotations

from kit.kubernetes.layout import ClusterLayout, ClusterObject, ServiceAddress, named
from kit.kubernetes.names import CARD, COMPONENT, PROJECT, Keys, dns_label, pods_of
from kit.kubernetes.workloads import front_replicas
from kit.stack.yaml_lines import Flow, Node


def services(layout: ClusterLayout) -> list[ClusterObject]:
    """One for each host that is asked, and the headless one that a StatefulSet wants."""
    found = [_service(one, layout) for one in layout.addresses]
    if layout.shape == "pod-per-card":
        selector = pods_of(layout.project, CARD)
        ports: Node = [Flow({"name": f"http-{port}", "port": port}) for port in layout.ports.values()]
        headless: Keys = {"clusterIP": "None", "publishNotReadyAddresses": True, "selector": selector, "ports": ports}
        comment = ("The pods of the cards by their names, as the StatefulSet wants it.",)
        found.append(named("v1", "Service", CARD, layout, "worker", {"spec": headless}, comment))
    return found


def _service(address: ServiceAddress, layout: ClusterLayout) -> ClusterObject:
    ports: Node = [Flow({"name": "http", "port": address.port, "targetPort": address.target})]
    anyway: Keys = {"publishNotReadyAddresses": True} if address.while_not_ready else {}
    spec: Keys = {**anyway, "selector": dict(address.selector), "ports": ports}
    return named("v1", "Service", address.name, layout, address.role, {"spec": spec})


def policies(layout: ClusterLayout) -> list[ClusterObject]:
    """Nothing reaches a pod, and a pod reaches nothing, but for what is listed."""
    project = layout.project
    router = layout.plan.manifest.router
    behind = _from(project, "router", "proxy")
    ahead = _to(project, "worker", "proxy", "router")
    open_to: Node = [] if router.api_key or router.api_key_file else [{"from": [Flow({"podSelector": {}})]}]
    reached = "any pod of the cluster: clients need the key" if not open_to else "pods of this namespace: no key is set"
    dns: Node = [
        {
            "to": [Flow({"namespaceSelector": {}})],
            "ports": [Flow({"protocol": "UDP", "port": 53}), Flow({"protocol": "TCP", "port": 53})],
        }
    ]
    found = [
        _policy("default-deny", layout, _pods(project), {"ingress": [], "egress": dns}, "Names are resolved; no more."),
        _policy("workers", layout, _pods(project, "worker"), {"ingress": behind}, "Workers are asked by the router."),
        _policy(
            "router",
            layout,
            _pods(project, "router"),
            {"ingress": open_to or [Flow({})], "egress": ahead},
            f"The endpoint is asked by {reached}.",
        ),
    ]
    if layout.of_role("proxy"):
        both: Keys = {"ingress": behind, "egress": _to(project, "worker")}
        found.append(_policy("proxies", layout, _pods(project, "proxy"), both, "Proxies stand before workers."))
    if layout.of_role("download"):
        anywhere: Keys = {"egress": [Flow({})]}
        found.append(_policy("downloads", layout, _pods(project, "download"), anywhere, "Downloads reach the Hub."))
    return found


def _policy(name: str, layout: ClusterLayout, pods: Keys, rules: Keys, comment: str) -> ClusterObject:
    types = [{"ingress": "Ingress", "egress": "Egress"}[key] for key in rules]
    spec: Keys = {"podSelector": pods, "policyTypes": Flow(types), **{k: v for k, v in rules.items() if v != []}}
    return named("networking.k8s.io/v1", "NetworkPolicy", name, layout, "policy", {"spec": spec}, (comment,))


def _pods(project: str, *components: str) -> Keys:
    labels: Keys = {PROJECT: dns_label(project)}
    if len(components) == 1:
        return {"matchLabels": labels | {COMPONENT: components[0]}}
    if not components:
        return {"matchLabels": labels}
    among = Flow({"key": COMPONENT, "operator": "In", "values": list(components)})
    return {"matchLabels": labels, "matchExpressions": [among]}


def _from(project: str, *components: str) -> Node:
    return [{"from": [{"podSelector": _pods(project, *components)}]}]


def _to(project: str, *components: str) -> Node:
    return [{"to": [{"podSelector": _pods(project, *components)}]}]


def budgets(layout: ClusterLayout) -> list[ClusterObject]:
    """Where there are several pods, a drain of nodes takes one at a time."""
    names = [one.name for one in (*layout.of_role("router"), *layout.of_role("proxy"))]
    several = [(name, "router") for name in names if front_replicas(layout) > 1]
    several += [(CARD, "worker")] if layout.settings.copies > 1 else []
    return [
        named(
            "policy/v1",
            "PodDisruptionBudget",
            name,
            layout,
            role,
            {"spec": {"maxUnavailable": 1, "selector": {"matchLabels": pods_of(layout.project, name)}}},
        )
        for name, role in several
    ]
