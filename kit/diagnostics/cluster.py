"""Why Kubernetes does not make, place or start a pod. Pure."""

from __future__ import annotations

from kit.diagnostics.pattern import Explanation, Pattern, first

PATTERNS: tuple[Pattern, ...] = (
    Pattern(
        r'violates PodSecurity "(?P<level>[^"]*)"',
        "the namespace's Pod Security level {level} refuses the pod",
        "render again, and apply without changes: printed pods are restricted",
    ),
    Pattern(
        r"exceeded quota: (?P<quota>[^\s,]+)",
        "the namespace's quota {quota} is used up",
        "free some of it, or ask for more: `kubectl describe resourcequota {quota}`",
        retryable=True,
    ),
    Pattern(
        r"cannot allocate all claims|resourceclaim in use|waiting for resource driver|no device matches",
        "no node has a free card that the claim matches",
        "`kubectl get resourceslices` shows the cards; is the DRA driver running, and which claim holds the card?",
        retryable=True,
    ),
    Pattern(
        r"Insufficient nvidia\.com/gpu",
        "no node has a free slot of the device plugin",
        "set its time-slicing to at least as many replicas as there are workers, packed on one card",
        retryable=True,
    ),
    Pattern(
        r"Insufficient (?P<what>memory|cpu|ephemeral-storage)",
        "no node has enough {what} left for its requests",
        "free a node's {what}, or plan for less: fewer requests, a shorter context, gpu.memory",
        retryable=True,
    ),
    Pattern(
        r"unbound immediate PersistentVolumeClaims|no storage class is set|storageclass[^\n]{0,80} not found",
        "a volume is not provisioned",
        "set kubernetes.storage_class to one that `kubectl get storageclass` lists, or make a default one",
        retryable=True,
    ),
    Pattern(
        r"didn't match Pod's node affinity/selector|untolerated taint",
        "no node has the labels that are asked for, without a taint that is not tolerated",
        "look at kubernetes.node_selector and kubernetes.tolerations",
        retryable=True,
    ),
    Pattern(
        r"didn't match pod affinity rules",
        "its node is chosen by the workers' pod, which has none yet",
        "look at why the workers are Pending",
        retryable=True,
    ),
    Pattern(
        r'secret "(?P<name>[^"]*)" not found|couldn\'t find key (?P<key>\S+) in Secret',
        "the Secret {name}{key} is missing",
        "make it: kustomization.yaml has the command",
    ),
    Pattern(
        r"ErrImageNeverPull|ImagePullBackOff|ErrImagePull|InvalidImageName",
        "its image is not on the node, and cannot be pulled",
        "look at the image's name, kubernetes.image_map and image_pull_secrets",
    ),
)


def explain_pod(text: str) -> Explanation | None:
    """What a message about a pod means; None for an unknown one."""
    return first(PATTERNS, text)
