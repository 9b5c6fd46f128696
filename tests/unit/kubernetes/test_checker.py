"""The checker: each rule has a fault that shows it, and one field of the printed objects at a time is deleted or
changed to see that it, or the API's schemas, notices."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from typing import Any

import kubernetes_validate
import pytest

from kit.kubernetes.checker import RULES, check
from tests.support.cluster import VARIANTS, Object, container, objects, of
from tests.support.mutants import Mutant, dotted, mutants

Change = Callable[[list[Object]], object]
PROJECT = "app.kubernetes.io/part-of"
TEMPLATE, CLAIM = "resourceClaimTemplateName", "PersistentVolumeClaim"


def pod(kind: str, name: str, found: list[Object]) -> Any:
    return of(kind, name, found)["spec"]["template"]["spec"]


def put(at: Any, key: Any, value: Any) -> None:
    at[key] = value


def chat(found: list[Object]) -> Any:
    return container(pod("Deployment", "chat", found), "chat")


def router(found: list[Object]) -> Any:
    return container(pod("Deployment", "router", found), "router")


def card(found: list[Object]) -> Any:
    return pod("StatefulSet", "card", found)


def workers_json(found: list[Object], keep: Callable[[Any], bool]) -> None:
    data = of("ConfigMap", "smg", found)["data"]
    listed = json.loads(data["workers.json"])
    data["workers.json"] = json.dumps({**listed, "workers": [one for one in listed["workers"] if keep(one)]})


# Rule -> (variant, what is done to its objects): faults that an API server takes.
FAULTS: dict[str, list[tuple[str, Change]]] = {
    "non-root": [
        ("trio-16gb", lambda o: put(pod("Deployment", "chat", o)["securityContext"], "runAsUser", 0)),
        ("trio-16gb", lambda o: pod("Deployment", "router", o)["securityContext"].pop("runAsNonRoot")),
    ],
    "seccomp": [("trio-16gb", lambda o: pod("Deployment", "chat", o)["securityContext"].pop("seccompProfile"))],
    "capabilities": [
        ("trio-16gb", lambda o: put(chat(o)["securityContext"], "capabilities", {"drop": ["ALL"], "add": ["A"]})),
        ("trio-16gb", lambda o: router(o)["securityContext"].pop("capabilities")),
    ],
    "escalation": [("trio-16gb", lambda o: chat(o)["securityContext"].pop("allowPrivilegeEscalation"))],
    "host": [
        ("trio-16gb", lambda o: put(pod("Deployment", "chat", o), "hostIPC", True)),
        ("trio-16gb", lambda o: put(chat(o)["ports"][0], "hostPort", 8000)),
        ("trio-16gb", lambda o: put(pod("Deployment", "chat", o)["volumes"][0], "hostPath", {"path": "/m"})),
    ],
    "namespace": [
        ("trio-16gb", lambda o: put(of("Deployment", "chat", o)["metadata"], "namespace", "other")),
        ("trio-16gb", lambda o: of("Namespace", "trio", o)["metadata"]["labels"].popitem()),
    ],
    "tokens": [("trio-16gb", lambda o: put(pod("Deployment", "chat", o), "enableServiceLinks", True))],
    "labels": [("trio-16gb", lambda o: put(of("Job", jobs(o)[0], o)["metadata"]["labels"], PROJECT, "x"))],
    "users": [("trio-16gb", lambda o: put(pod("Deployment", "chat", o)["securityContext"], "fsGroup", 1))],
    "mounts": [("trio-16gb", lambda o: chat(o)["volumeMounts"].pop())],
    "variables": [("trio-16gb", lambda o: put(chat(o)["env"][3], "value", "/root/huggingface"))],
    "arguments": [("trio-16gb", lambda o: put(chat(o)["args"], chat(o)["args"].index("chat"), "chatt"))],
    "nodes": [("trio-device-plugin", lambda o: pod("Job", jobs(o)[0], o).pop("nodeSelector"))],
    "amounts": [("trio-16gb", lambda o: put(chat(o)["resources"]["requests"], "cpu", "0"))],
    "restart": [
        ("trio-copies", lambda o: put(card(o)["initContainers"][1], "restartPolicy", "Sometimes")),
        ("trio-16gb", lambda o: put(pod("Deployment", "chat", o), "restartPolicy", "Never")),
    ],
    "probes": [
        ("trio-copies", lambda o: put(card(o)["initContainers"][0], "livenessProbe", {"exec": {"command": ["true"]}})),
        ("trio-copies", lambda o: card(o)["initContainers"][1].pop("startupProbe")),
        ("trio-16gb", lambda o: put(chat(o)["startupProbe"], "failureThreshold", 3)),
        ("trio-16gb", lambda o: put(router(o)["livenessProbe"]["httpGet"], "path", "/readiness")),
    ],
    "ports": [("trio-copies", lambda o: put(container(card(o), "small")["ports"][0], "containerPort", 8010))],
    "secrets": [
        ("trio-device-plugin", lambda o: put(router(o), "env", [{"name": "MONOGPU_API_KEY", "value": "sk-1"}])),
    ],
    "images": [("trio-16gb", lambda o: put(chat(o), "image", "vllm/vllm-openai:latest"))],
    "requests": [("trio-16gb", lambda o: chat(o)["resources"].pop("requests"))],
    "names": [("trio-16gb", lambda o: put(of("Service", "chat", o)["metadata"], "name", "c" * 64))],
    "order": [("trio-copies", lambda o: card(o)["initContainers"].reverse())],
    "shm": [
        ("cpu-demo", lambda o: put(chat(o)["resources"], "limits", {"memory": "512Mi"})),
        ("trio-copies", lambda o: put(container(card(o), "small")["volumeMounts"][-1], "name", "shm-chat")),
    ],
    "strategy": [
        ("trio-16gb", lambda o: of("Deployment", "chat", o)["spec"].pop("strategy")),
        ("trio-16gb", lambda o: of("Deployment", "router", o)["spec"].pop("strategy")),
    ],
    "selectors": [
        ("trio-copies", lambda o: card(o).pop("topologySpreadConstraints")),
        ("trio-copies", lambda o: o.remove(of("PodDisruptionBudget", "card", o))),
    ],
    "copies": [("trio-16gb", lambda o: put(of("Deployment", "chat", o)["spec"], "replicas", 2))],
    "grace": [("trio-16gb", lambda o: put(pod("Deployment", "router", o), "terminationGracePeriodSeconds", 30))],
    "claims": [
        ("trio-16gb", lambda o: chat(o)["resources"].pop("claims")),
        ("trio-16gb", lambda o: put(pod("Deployment", "chat", o)["resourceClaims"][0], TEMPLATE, "card")),
        ("trio-copies", lambda o: put(card(o), "resourceClaims", [{"name": "card", "resourceClaimName": "card"}])),
    ],
    "bytes": [
        ("trio-16gb", lambda o: put(of("ResourceClaim", "card", o)["metadata"]["annotations"], "monogpu.bytes", "1")),
        ("cpu-demo", lambda o: put(chat(o)["resources"]["requests"], "memory", "1Gi")),
    ],
    "slots": [("trio-device-plugin", lambda o: put(chat(o)["resources"], "limits", {"nvidia.com/gpu": 2}))],
    "references": [("trio-16gb", lambda o: o.remove(of("PersistentVolumeClaim", "models", o)))],
    "read-only": [("trio-16gb", lambda o: chat(o)["volumeMounts"][1].pop("readOnly"))],
    "modes": [
        ("trio-16gb", lambda o: pod("Job", jobs(o)[0], o).pop("affinity")),
        ("trio-copies-shared", lambda o: put(of(CLAIM, "models", o)["spec"], "accessModes", ["ReadWriteOnce"])),
    ],
    "waits": [("trio-16gb", lambda o: o.remove(of("Job", jobs(o)[0], o)))],
    "router-list": [
        ("trio-16gb", lambda o: put(router(o)["volumeMounts"][1], "subPath", "workers.json")),
        ("trio-16gb", lambda o: of("ConfigMap", "smg", o)["data"].pop("workers.json")),
    ],
    "services": [
        ("trio-16gb", lambda o: of("Service", "chat", o)["spec"].pop("publishNotReadyAddresses")),
        ("trio-16gb", lambda o: put(of("Service", "router", o)["spec"], "type", "LoadBalancer")),
        ("trio-copies", lambda o: of("Service", "card", o)["spec"].pop("clusterIP")),
    ],
    "listed": [
        ("trio-16gb", lambda o: workers_json(o, lambda one: one["model_id"] != "tiny")),
        ("trio-copies", lambda o: workers_json(o, lambda one: one["id"] != "small-1")),
    ],
    "policies": [
        ("trio-16gb", lambda o: o.remove(of("NetworkPolicy", "default-deny", o))),
        ("trio-16gb", lambda o: put(of("NetworkPolicy", "workers", o)["spec"], "ingress", [{}])),
        ("trio-16gb", lambda o: put(of("NetworkPolicy", "router", o)["spec"], "ingress", [{}])),
        ("trio-16gb", lambda o: put(of("NetworkPolicy", "router", o)["spec"], "egress", [])),
    ],
}  # fmt: skip
CASES = [(rule, number) for rule, faults in FAULTS.items() for number in range(len(faults))]


def jobs(found: list[Object]) -> list[str]:
    return [one["metadata"]["name"] for one in found if one["kind"] == "Job"]


def test_every_rule_has_a_fault_that_shows_it() -> None:
    assert sorted(FAULTS) == sorted(rule.name for rule in RULES)


@pytest.mark.parametrize(("rule", "number"), CASES, ids=[f"{rule}-{number}" for rule, number in CASES])
def test_a_fault_is_found_by_its_rule(rule: str, number: int) -> None:
    variant, change = FAULTS[rule][number]
    found = objects(variant)
    change(found)
    assert rule in {fault.rule for fault in check(found)}


# Fields that an API server may have otherwise without harm: free choices, defaults, and what only an engine can judge.
FREE = re.compile(
    r"""
    .*\.(args|command|env)\[\]               # flags, scripts and variables that the plan does not own
    | .*\.env\[\]\.(name|value|valueFrom.*) | .*\.containers\[\]\.env | .*\.initContainers\[\]\.env
    | .*\.image                              # another tag
    | .*\.ports\[\](\.name)? | Service:spec\.ports\[\]\.(port|targetPort)
    | .*Probe\.(failureThreshold|periodSeconds|timeoutSeconds) | .*\.readinessProbe\.exec\.command\[\]
    | .*\.(terminationGracePeriodSeconds|seconds|backoffLimit|readOnlyRootFilesystem)
    | .*\.(exactly\.allocationMode|exactly\.count|requests\[\]\.name)
    | .*\.rollingUpdate\.maxSurge | .*:spec\.replicas
    | .*\.matchLabels\.app\.kubernetes\.io/(name|part-of)
    | .*\.matchExpressions\[\]\.values\[\]   # of a component that the stack lacks
    | Job:spec\.template\.(metadata\.labels\.app\.kubernetes\.io/name|spec\.(initContainers|containers)\[\]\.name)
    | Deployment:spec\.template\.spec\.containers\[\]\.name
    | .*\.annotations(\.monogpu\.(files|metrics))?
    | ConfigMap:data(\.(launch\.(py|sh)|vllm_guard\.py|haproxy\.cfg|config\.pbtxt|\w+\.modelfile))?
    | .*volumeClaimTemplates\[\]\.(apiVersion|kind)
    | .*\.volumeMounts\[\](\.mountPath)?     # of a compile cache
    """,
    re.VERBOSE,
)


def survives(mutant: Mutant) -> bool:
    """Whether neither the checker nor the API's schemas notice."""
    if check(mutant.objects):
        return False
    try:
        kubernetes_validate.validate(mutant.objects[mutant.index], "1.36", strict=True)
    except kubernetes_validate.ValidationError:
        return False
    kind = mutant.objects[mutant.index]["kind"]
    return not FREE.fullmatch(f"{kind}:{dotted(mutant.path)}")


def test_one_field_at_a_time_changed_is_noticed() -> None:
    """Every field of two printed cards in a row, some of every other variant; the seed is fixed."""
    found = [mutant for mutant in mutants(objects("trio-copies")) if survives(mutant)]
    chosen = random.Random(20261201)
    for variant in VARIANTS:
        every = list(mutants(objects(variant)))
        found += [mutant for mutant in chosen.sample(every, 80) if survives(mutant)]
    assert not found, "\n".join(f"{mutant.objects[mutant.index]['kind']}:{mutant}" for mutant in found)


def test_a_shape_that_cannot_be_read_is_a_fault_and_no_traceback() -> None:
    found = objects("trio-16gb")
    put(of("Deployment", "chat", found)["spec"]["template"]["spec"], "containers", "none")
    assert check(found)
