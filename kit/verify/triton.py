"""What a model that takes and gives tensors is asked: whatever fits its own configuration. Triton's protocol,
https://github.com/kserve/open-inference-protocol; its configuration names types as TYPE_FP32, its requests as FP32."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import Any

from kit.verify.responses import Verdict, decoded, dig, json_of, refusal, short

Ask = Callable[[str, Mapping[str, Any] | None], tuple[int, bytes]]
"""Path and payload, None to GET -> status and body."""

NO_JSON = ("FP16", "BF16")  # a request in JSON cannot hold them


def ask_tensors(name: str, ask: Ask) -> Verdict:
    """One inference with tensors of zeros, or of one word, in the shapes that the model says it takes."""
    status, body = ask(f"/v2/models/{name}/config", None)
    config = json_of(decoded(body)) if status == 200 else None
    if not isinstance(config, dict):
        return refusal(status, body)
    inputs = request(config)["inputs"]
    if any(each["datatype"] in NO_JSON for each in inputs):
        status, body = ask(f"/v2/models/{name}/ready", None)
        return (
            Verdict(True, "ready; its half precision is not asked in JSON") if status == 200 else refusal(status, body)
        )
    return judge_tensors(*ask(f"/v2/models/{name}/infer", request(config)))


def request(config: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """The smallest request that a model's configuration allows; a dimension of any size is 1."""
    batch = [1] if config.get("max_batch_size") else []
    return {"inputs": [_input(each, batch) for each in config.get("input", ()) if not each.get("optional")]}


def judge_tensors(status: int, body: bytes) -> Verdict:
    """At least one tensor, whose data has as many elements as its shape."""
    if status != 200:
        return refusal(status, body)
    outputs = dig(json_of(decoded(body)), "outputs")
    if not isinstance(outputs, list) or not outputs:
        return Verdict(False, f"no tensor in the answer: {short(decoded(body))}")
    wrong = [each for each in outputs if not _is_whole(each)]
    if wrong:
        return Verdict(False, f"a tensor whose data is not its shape: {short(wrong[0])}")
    return Verdict(
        True, "; ".join(f"{short(each.get('name'))} {each.get('datatype')} {each['shape']}" for each in outputs)
    )


def _input(wanted: Mapping[str, Any], batch: list[int]) -> dict[str, Any]:
    shape = batch + [max(int(size), 1) for size in wanted.get("dims", ())]
    kind = str(wanted.get("data_type", "")).removeprefix("TYPE_").replace("STRING", "BYTES")
    zero: Any = "hello" if kind == "BYTES" else False if kind == "BOOL" else 0
    return {"name": wanted.get("name"), "shape": shape, "datatype": kind, "data": [zero] * prod(shape)}


def _is_whole(tensor: object) -> bool:
    shape, data = dig(tensor, "shape"), dig(tensor, "data")
    if not isinstance(shape, list) or not all(isinstance(size, int) for size in shape):
        return False
    return isinstance(data, list) and len(data) == prod(shape)
