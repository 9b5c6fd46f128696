"""How pods are replaced, what they claim, and whether their bytes are the plan's."""

from __future__ import annotations

from collections.abc import Iterator

from kit.kubernetes.checker.world import COMPONENT, Object, PodView, Rule, World, containers, in_bytes

Found = Iterator[tuple[str, str]]

_DRAIN = 30  # seconds that SMG and HAProxy give requests under way
_PLUGIN = "nvidia.com/gpu"
_PROJECT = "app.kubernetes.io/part-of"


def _strategy(world: World) -> Found:
    for pod in world.serving:
        spec = pod.owner["spec"]
        if pod.kind == "StatefulSet":
            if (spec.get("updateStrategy") or {}).get("type") != "RollingUpdate":
                yield pod.where, "its pods are not replaced when they change"
            if spec.get("podManagementPolicy") != "Parallel":
                yield pod.where, "a card waits for another card's pod"
            continue
        strategy = spec.get("strategy") or {}
        rolling = strategy.get("rollingUpdate") or {}
        if pod.component == "worker":
            if strategy.get("type") != "Recreate" and rolling.get("maxSurge") not in (0, "0", "0%"):
                yield pod.where, "a second pod comes before the first one goes, and no card is free for it"
        elif rolling.get("maxUnavailable") not in (0, "0", "0%") or rolling.get("maxSurge") in (None, 0, "0", "0%"):
            yield pod.where, "the endpoint is away while it is replaced"
        elif strategy.get("type") != "RollingUpdate":
            yield pod.where, f"the strategy is {strategy.get('type')}"


def _selectors(world: World) -> Found:
    for pod in world.serving:
        selector = (pod.owner["spec"].get("selector") or {}).get("matchLabels") or {}
        chosen = [other.where for other, _ in world.selected(selector)] if _PROJECT in selector else []
        if chosen != [pod.where]:
            yield pod.where, f"its selector finds {', '.join(chosen) or 'no pod'}"
        if pod.component not in ("worker", "router", "proxy"):
            yield pod.where, f"its pods have the label {COMPONENT} {pod.component!r}"
    for name, budget in world.of("PodDisruptionBudget").items():
        spec = budget["spec"]
        labels = spec["selector"]["matchLabels"]
        found = world.selected(labels) if _PROJECT in labels else []
        if len(found) != 1 or (found[0][0].copies or 2) < 2:
            yield f"PodDisruptionBudget/{name}", "it is for no workload of several pods"
        if spec.get("maxUnavailable") != 1:
            yield f"PodDisruptionBudget/{name}", "a node with two of the pods could not be drained, or takes both"
    budgets = [one["spec"]["selector"]["matchLabels"] for one in world.of("PodDisruptionBudget").values()]
    covered = {pod.where for labels in budgets for pod, _ in world.selected(labels)}
    for pod in world.serving:
        if (pod.copies or 2) > 1 and pod.where not in covered:
            yield pod.where, "a drain of nodes may take all of its pods: no PodDisruptionBudget"
        if (pod.copies or 2) > 1:
            yield from _spread(pod)


def _spread(pod: PodView) -> Found:
    terms = pod.spec.get("topologySpreadConstraints") or []
    labels = [(one.get("labelSelector") or {}).get("matchLabels") or {} for one in terms]
    mine = [one for one in labels if one and all(pod.labels.get(key) == value for key, value in one.items())]
    if any(one.get("maxSkew") != 1 for one in terms):
        yield pod.where, "its copies may all be on one node: maxSkew is not 1"
    if not mine or any(one.get("topologyKey") != "kubernetes.io/hostname" for one in terms):
        yield pod.where, "its copies are not spread over nodes"
    if any(one.get("whenUnsatisfiable") != "ScheduleAnyway" for one in terms):
        yield pod.where, "a node with two cards would hold one copy only"


def _copies(world: World) -> Found:
    for pod in world.serving:
        if pod.kind == "Deployment" and pod.component == "worker" and pod.copies != 1:
            yield pod.where, f"{pod.copies} pods of one worker on one card: the plan has one"
        if pod.kind == "Deployment" and (pod.copies is None or pod.copies < 1):
            yield pod.where, f"replicas is {pod.copies}"
        if pod.kind == "StatefulSet" and pod.copies is not None and pod.copies < 1:
            yield pod.where, f"replicas is {pod.copies}"


def _grace(world: World) -> Found:
    for pod in world.serving:
        grace = pod.spec.get("terminationGracePeriodSeconds")
        unread = 0
        for one in pod.running:
            hook = ((one.get("lifecycle") or {}).get("preStop") or {}).get("sleep") or {}
            unread = max(unread, int(hook.get("seconds", 0)))
        if not isinstance(grace, int) or grace < _DRAIN + unread:
            yield pod.where, f"{grace} s are less than requests under way are given"
        if pod.component in ("router", "proxy") and unread < 1:
            yield pod.where, "it ends while Services still send to it: no preStop sleep"


def _claims(world: World) -> Found:
    claims, templates = world.of("ResourceClaim"), world.of("ResourceClaimTemplate")
    for pod, one, where in containers(world):
        named = [claim.get("name") for claim in (one.get("resources") or {}).get("claims") or []]
        plugged = _PLUGIN in ((one.get("resources") or {}).get("limits") or {})
        is_worker = pod.kind != "Job" and one in pod.workers
        if not is_worker and (named or plugged):
            yield where, "it takes the card, and is no worker"
        if is_worker and (claims or templates) and (len(named) != 1 or plugged):
            yield where, "it is a worker, and does not name the card's claim once"
    for pod in world.pods:
        yield from _pod_claims(pod, claims, templates)
    for kind, found in (("ResourceClaim", claims), ("ResourceClaimTemplate", templates)):
        for name, one in found.items():
            spec = one["spec"] if kind == "ResourceClaim" else one["spec"]["spec"]
            yield from ((f"{kind}/{name}", what) for what in _device(spec))


def _pod_claims(pod: PodView, claims: dict[str, Object], templates: dict[str, Object]) -> Found:
    said = pod.spec.get("resourceClaims") or []
    names = {one.get("name") for one in said}
    used = {claim.get("name") for one in pod.every for claim in (one.get("resources") or {}).get("claims") or []}
    if names != used:
        yield pod.where, f"its pod has the claims {sorted(map(str, names))}, its containers {sorted(map(str, used))}"
    for one in said:
        shared, own = one.get("resourceClaimName"), one.get("resourceClaimTemplateName")
        if (shared is None) == (own is None):
            yield pod.where, "a claim is by its name or by a template, one of the two"
        if (shared is not None and shared not in claims) or (own is not None and own not in templates):
            yield pod.where, f"the claim {shared or own} is not there"
        if shared is not None and pod.kind == "StatefulSet":
            yield pod.where, "its pods share one card: each copy needs its own"
        if own is not None and pod.kind == "Deployment":
            yield pod.where, "its claim is its own: the workers would be on different cards"


def _device(spec: Object) -> Iterator[str]:
    requests = spec["devices"].get("requests") or []
    if len(requests) != 1:
        yield f"{len(requests)} requests: the stack is planned for one card"
        return
    exactly = requests[0].get("exactly") or {}
    if exactly.get("allocationMode") not in (None, "ExactCount") or exactly.get("count") not in (None, 1):
        yield "it asks for several cards"
    if exactly.get("deviceClassName") != "gpu.nvidia.com":
        yield f"its device class is {exactly.get('deviceClassName')}"
    expressions = [(one.get("cel") or {}).get("expression", "") for one in exactly.get("selectors") or []]
    if not any("memory" in one and "quantity(" in one for one in expressions):
        yield "a card of any size would do"


def _bytes(world: World) -> Found:
    """The bill: what workers were planned to use is what the claim was printed for, or what they request as RAM."""
    planned: dict[str, int] = {}
    for pod in world.serving:
        said = pod.annotations.get("monogpu.bytes", "")
        if pod.component == "worker" and not said:
            yield pod.where, "it does not say what its workers were planned to use"
        parts = dict(part.split("=") for part in said.split(",") if part)
        planned |= {name: int(count) for name, count in parts.items()}
    for kind in ("ResourceClaim", "ResourceClaimTemplate"):
        for name, one in world.of(kind).items():
            promised = int((one["metadata"].get("annotations") or {}).get("monogpu.bytes", 0))
            if promised != sum(planned.values()):
                yield f"{kind}/{name}", f"it is for {promised} bytes, and the workers take {sum(planned.values())}"
            spec = one["spec"] if kind == "ResourceClaim" else one["spec"]["spec"]
            yield from ((f"{kind}/{name}", what) for what in _least(spec, promised))
    on_card = world.of("ResourceClaim") or world.of("ResourceClaimTemplate")
    for pod in world.serving:
        for one in pod.workers if not on_card else ():
            limits = (one.get("resources") or {}).get("limits") or {}
            asked = in_bytes((one.get("resources") or {}).get("requests", {}).get("memory", 0))
            if _PLUGIN not in limits and asked < planned.get(str(one.get("name")), 0):
                yield f"{pod.where}: container {one.get('name')}", "it requests less memory than was planned"


def _least(spec: Object, promised: int) -> Iterator[str]:
    selectors = spec["devices"]["requests"][0]["exactly"].get("selectors") or []
    text = " ".join((one.get("cel") or {}).get("expression", "") for one in selectors)
    said = text.partition('quantity("')[2].partition('"')[0]
    if said and in_bytes(said) < promised:
        yield f"a card with {said} would do, and the workers take {promised} bytes"
    if said and not text.endswith(">= 0"):
        yield "its selector does not demand at least that much"


def _slots(world: World) -> Found:
    """Without claims, each worker of a card takes a slot of the device plugin, or none does."""
    workers = [(pod, one) for pod in world.serving for one in pod.workers]
    taking = [((one.get("resources") or {}).get("limits") or {}).get(_PLUGIN) for _, one in workers]
    if any(taking) and set(map(str, taking)) != {"1"}:
        yield "objects", f"workers take {taking} slots of the device plugin: needed is one each"
    on_card = [any("--gpu-memory-utilization" in str(arg) for arg in one.get("args") or []) for _, one in workers]
    claimed = [bool((one.get("resources") or {}).get("claims")) for _, one in workers]
    for (pod, one), card, claim, slot in zip(workers, on_card, claimed, taking, strict=True):
        if card and not claim and not slot:
            yield f"{pod.where}: container {one.get('name')}", "it serves on a card, and takes none"


RULES = (
    Rule("strategy", "No worker's second pod comes before the first goes; routers come before they go.", _strategy),
    Rule("selectors", "Every workload finds its own pods; several pods have a budget and are spread.", _selectors),
    Rule("copies", "A worker's Deployment has one pod.", _copies),
    Rule("grace", "Pods end later than requests under way, and routers after no Service sends to them.", _grace),
    Rule("claims", "Every worker names the card's claim, nothing else does, and it is one card.", _claims),
    Rule("bytes", "The claim is for the sum of the bill, and RAM is requested as planned.", _bytes),
    Rule("slots", "Without claims each worker takes one slot of the device plugin.", _slots),
)
