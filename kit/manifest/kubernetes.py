"""The manifest's `kubernetes:` as types: what only `render --target kubernetes` reads."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, StrictBool, StrictInt, model_validator

from kit.errors import quoted
from kit.manifest.fields import Bytes, Image, ManifestPart, Replicas
from kit.manifest.validators import Refused

Shape = Literal["deployment-per-model", "pod-per-card"]

_LABEL = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_VALUE = re.compile(r"(?:[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?")


def _namespace(text: str) -> str:
    """A namespace of the stack's own: it is printed, with the Pod Security labels of its pods."""
    if not _LABEL.fullmatch(text):
        raise Refused(f"{quoted(text)} is no namespace", "needed: lower case letters, digits and -, at most 63")
    if text == "default" or text.startswith("kube-"):
        why = "the namespace is printed with Pod Security labels, which would hold for everything in it"
        raise Refused(f"the namespace {text} is not the stack's own", f"{why}; choose another")
    return text


def _object_name(text: str) -> str:
    """The name of a StorageClass or a Secret: labels of a host name, joined by dots."""
    if len(text) > 253 or not all(_LABEL.fullmatch(part) for part in text.split(".")):
        raise Refused(f"{quoted(text)} is no name of Kubernetes", "needed: lower case letters, digits, - and .")
    return text


def _label_key(text: str) -> str:
    prefix, slash, name = text.rpartition("/")
    if slash:
        _object_name(prefix)
    if not name or not _VALUE.fullmatch(name):
        raise Refused(f"{quoted(text)} is no label", "needed: NAME or PREFIX/NAME, such as nvidia.com/gpu.product")
    return text


def _label_value(text: str) -> str:
    if not _VALUE.fullmatch(text):
        raise Refused(f"{quoted(text)} is no label's value", "needed: letters, digits, - _ and ., at most 63")
    return text


Namespace = Annotated[str, AfterValidator(_namespace)]
ObjectName = Annotated[str, AfterValidator(_object_name)]
LabelKey = Annotated[str, AfterValidator(_label_key)]
LabelValue = Annotated[str, AfterValidator(_label_value)]


class Toleration(ManifestPart):
    """A taint of nodes that the pods accept, as Kubernetes writes it."""

    key: LabelKey | None = Field(None, description="The taint's key; without one, with operator: Exists, any taint.")
    operator: Literal["Equal", "Exists"] = Field("Equal", description="Equal compares the value; Exists takes any.")
    value: LabelValue | None = Field(None, description="The taint's value.")
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] | None = Field(
        None, description="The taint's effect. Default: any."
    )
    toleration_seconds: StrictInt | None = Field(
        None, ge=0, description="How long a pod stays once a taint with NoExecute is there."
    )

    @model_validator(mode="after")
    def _consistent(self) -> Toleration:
        if self.operator == "Exists" and self.value is not None:
            raise Refused("operator: Exists takes no value", "remove value, or write operator: Equal")
        if self.operator == "Equal" and not self.key:
            raise Refused("operator: Equal needs a key", "needed: key, or operator: Exists")
        if self.toleration_seconds is not None and self.effect != "NoExecute":
            raise Refused("toleration_seconds is for effect: NoExecute", "remove it, or write effect: NoExecute")
        return self


class KubernetesConfig(ManifestPart):
    """The same stack on Kubernetes."""

    namespace: Namespace | None = Field(
        None, description="The namespace, which is printed too. Default: the project's name.", examples=["assistants"]
    )
    copies: Replicas = Field(
        1, description="How many cards serve the whole stack, each with all of its models.", examples=[2]
    )
    autoscaler: StrictBool = Field(
        False,
        description="An autoscaler of yours chooses how many of the copies run; `replicas` is not printed then.",
    )
    shape: Literal["auto", "deployment-per-model", "pod-per-card"] = Field(
        "auto",
        description="deployment-per-model: a crash or a change touches one model. pod-per-card: a pod with all "
        "workers, started in turn. auto: the first; the second with copies, or where start: sequential is written.",
    )
    gpu: Literal["dra", "device-plugin", "none"] | None = Field(
        None,
        description="dra: the workers share one ResourceClaim. device-plugin: nvidia.com/gpu with time-slicing. "
        "Default: dra, or none where gpu.device is none.",
    )
    storage_class: ObjectName | None = Field(
        None, description="The StorageClass of models and caches. Default: the cluster's own."
    )
    cache_size: Bytes | None = Field(
        None, description="The size of the volume for models. Default: by their weights.", examples=["40GiB"]
    )
    access_mode: Literal["ReadWriteOnce", "ReadWriteMany"] = Field(
        "ReadWriteOnce",
        description="Of that volume. With copies, ReadWriteMany is one volume for all; ReadWriteOnce one for each.",
    )
    node_selector: dict[LabelKey, LabelValue] = Field(
        {}, description="Labels of the nodes that serve.", examples=[{"nvidia.com/gpu.product": "NVIDIA-L4"}]
    )
    tolerations: tuple[Toleration, ...] = Field(
        (), description="Taints that the pods accept.", examples=[[{"key": "nvidia.com/gpu", "operator": "Exists"}]]
    )
    image_pull_secrets: tuple[ObjectName, ...] = Field(
        (), description="Names of Secrets with a registry's credentials.", examples=[["registry"]]
    )
    image_map: dict[Image, Image] = Field(
        {},
        description="Image -> the name under which your cluster pulls it.",
        examples=[{"vllm/vllm-openai:v0.26.0": "registry.example.com/vllm-openai:v0.26.0"}],
    )
