"""How single fields of a compose file are read: one function per kind of value, Node -> value. Pure.

Each raises TargetError at the node's line when the text is not what the field takes.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping
from typing import TypeVar

from kit.compose.spec import Json
from kit.compose.yaml_node import Node, fields, items
from kit.errors import TargetError

T = TypeVar("T")
Reader = Callable[[Node], Json]

USE_COMPOSE = "take it out, or use `docker compose up` for this file"
_BOOLEANS = {
    **dict.fromkeys(("true", "yes", "on", "y"), True),
    **dict.fromkeys(("false", "no", "off", "n"), False),
}
_UNITS = {"": 1, "b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_SIZE = re.compile(r"(\d+)\s*([bkmgt]?)(?:i?b)?", re.IGNORECASE)
_SPAN = re.compile(r"(\d+(?:\.\d+)?)(ns|us|ms|s|m|h)")
_SPANS = {
    "interval": "Interval",
    "timeout": "Timeout",
    "start_period": "StartPeriod",
    "start_interval": "StartInterval",
}
_NANOSECONDS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9}


def text(node: Node) -> str:
    """Any text."""
    if not isinstance(node.value, str):
        raise node.wrong("a text")
    return node.value


def namespace(node: Node) -> str:
    """host, private, shareable: a namespace that is there by itself. Another service's is not: where Docker could not
    join it, it does not try again to start the container."""
    value = text(node)
    if value.startswith("service:"):
        raise node.wrong("host, or mount one volume in both services")
    return value


def texts(node: Node) -> list[str]:
    """A list of texts; one text is a list of one."""
    return [node.value] if isinstance(node.value, str) else [text(item) for item in items(node)]


def arguments(node: Node) -> list[str]:
    """A command: a list, or one text that is split as a shell would."""
    if not isinstance(node.value, str):
        return [text(item) for item in items(node)]
    try:
        return shlex.split(node.value)
    except ValueError:
        raise node.wrong("a list, or a text with its quotes closed") from None


def converted(convert: Callable[[str], T], needed: str) -> Callable[[Node], T]:
    """Reads a text that `convert` takes; for any other the error says what is `needed`."""

    def read(node: Node) -> T:
        try:
            return convert(text(node))
        except (ValueError, KeyError, OverflowError):
            raise node.wrong(needed) from None

    return read


boolean = converted(lambda value: _BOOLEANS[value.lower()], "true or false")
integer = converted(int, "a whole number")
nano_cpus = converted(lambda value: round(float(value) * 10**9), "a number of processors such as 1.5")


def size(node: Node) -> int:
    """Bytes: 1073741824, 64m, 1gb. k is 1024, as Compose counts."""
    match = _SIZE.fullmatch(text(node).strip())
    if not match:
        raise node.wrong("bytes, or a size such as 64m or 1gb")
    return int(match.group(1)) * _UNITS[match.group(2).lower()]


def nanoseconds(node: Node) -> int:
    """A span such as 30s, 1m30s, 500ms, in nanoseconds, as the Engine takes it."""
    value = text(node).strip()
    spans = _SPAN.findall(value)
    if not spans or "".join(number + unit for number, unit in spans) != value:
        raise node.wrong("a time such as 30s or 1m30s")
    return sum(round(float(number) * _NANOSECONDS[unit]) for number, unit in spans)


def seconds(node: Node) -> int:
    """A span in whole seconds."""
    return nanoseconds(node) // 10**9


def pairs(node: Node) -> list[tuple[str, str | None]]:
    """`{A: x, B: }` or `[A=x, B]` -> [(A, x), (B, None)]."""
    if isinstance(node.value, tuple):
        split = [text(item).partition("=") for item in node.value]
        return [(name, value if equals else None) for name, equals, value in split]
    if not isinstance(node.value, Mapping):
        raise node.wrong("a mapping or a list of NAME=value")
    return [(name, None if item.value is None else text(item)) for name, item in node.value.items()]


def extra_hosts(node: Node) -> list[str]:
    """Host names with their addresses, as `name:address`."""
    if isinstance(node.value, tuple):
        return [text(item).replace("=", ":", 1) for item in node.value]
    return [f"{name}:{text(item)}" for name, item in fields(node).items()]


def restart(node: Node) -> Json:
    """no, always, unless-stopped, on-failure or on-failure:3."""
    name, _, count = text(node).partition(":")
    if name not in ("no", "always", "unless-stopped", "on-failure") or (count and not count.isdecimal()):
        raise node.wrong("no, always, unless-stopped, on-failure or on-failure:3")
    return {"Name": name, "MaximumRetryCount": int(count or 0)}


def ulimits(node: Node) -> Json:
    """Limits: one number for both, or soft and hard."""
    return [_ulimit(name, item) for name, item in sorted(fields(node).items())]


def _ulimit(name: str, node: Node) -> Json:
    if isinstance(node.value, str):
        both = integer(node)
        return {"Name": name, "Soft": both, "Hard": both}
    limits = only(node, "soft", "hard")
    return {"Name": name, "Soft": integer(limits["soft"]), "Hard": integer(limits["hard"])}


def logging(node: Node) -> Json:
    """Where the log goes."""
    found = only(node, "driver", "options")
    options = dict(pairs(found["options"])) if "options" in found else {}
    return {"Type": text(found["driver"]) if "driver" in found else "json-file", "Config": options}


def tmpfs(node: Node) -> Json:
    """`/tmp` or `/tmp:size=64m` -> path and options."""
    return {path: options for path, _, options in (item.partition(":") for item in texts(node))}


def healthcheck(node: Node) -> Json:
    """A health check as the Engine takes it; a text is run by a shell."""
    found = only(node, "test", "retries", "disable", *_SPANS)
    if "disable" in found and boolean(found["disable"]):
        return {"Test": ["NONE"]}
    check: dict[str, Json] = {_SPANS[key]: nanoseconds(item) for key, item in found.items() if key in _SPANS}
    if "test" in found:
        test = found["test"]
        check["Test"] = ["CMD-SHELL", test.value] if isinstance(test.value, str) else texts(test)
    if "retries" in found:
        check["Retries"] = integer(found["retries"])
    return check


def devices(node: Node) -> Json:
    """`deploy: {resources: {reservations: {devices: [...]}}}` -> the Engine's DeviceRequests."""
    found = node
    for key in ("resources", "reservations", "devices"):
        found = only(found, key).get(key, Node((), node.path, node.mark))
    return [_device(item) for item in items(found)]


def _device(node: Node) -> Json:
    found = only(node, "driver", "count", "device_ids", "capabilities")
    counted = text(found["count"]) if "count" in found else ""
    request: dict[str, Json] = {
        "Driver": text(found["driver"]) if "driver" in found else "",
        "Count": -1 if counted == "all" else integer(found["count"]) if counted else 0,
        "Capabilities": [texts(found["capabilities"]) if "capabilities" in found else []],
    }
    if "device_ids" in found:
        request["DeviceIDs"] = texts(found["device_ids"])
    return request


def only(node: Node, *known: str) -> dict[str, Node]:
    """A mapping's fields. Raises TargetError that names every key which is not `known`."""
    found = fields(node)
    unknown = [found[key].problem(f"`{key}` is not read here", USE_COMPOSE) for key in found if key not in known]
    if unknown:
        raise TargetError(unknown)
    return dict(found)
