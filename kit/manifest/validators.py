"""What single values of the manifest may be. Each function returns its value, or raises Refused. Pure."""

from __future__ import annotations

import ipaddress
import re
from typing import Any, Literal

from kit.errors import quoted
from kit.units import MIB, parse_bytes, parse_count

NAME_LENGTH = 40
LARGEST = 2**50  # bytes; above it, the unit is wrong
LONGEST = 2**31 - 1  # tokens or requests: vLLM counts them in 32 bits

RESERVED = {
    "router": "the router's own service has this name",
    "haproxy": "the proxy in front of the router has this name",
    "gateway": "Docker may give this name to the host",
    "ollama": "Ollama's own service has this name",
    "ollama-proxy": "the proxy in front of Ollama has this name",
    "mps": "the service that shares the card by NVIDIA MPS has this name",
    "download": "services that download have this name",
    "localhost": "it is every container's name for itself",
    "kubernetes": "the cluster's own service has this name",
}
# Kubernetes gives every container <SERVICE>_PORT=tcp://... for each service; these programs read theirs as a number.
PORT_VARIABLES = {
    "VLLM_PORT": "vLLM",
    "VLLM_DP_MASTER_PORT": "vLLM",
    "VLLM_NIXL_SIDE_CHANNEL_PORT": "vLLM",
    "MASTER_PORT": "PyTorch",
}
_NAME = re.compile(r"[a-z](?:[a-z0-9-]*[a-z0-9])?")
_PROJECT = re.compile(r"[a-z0-9][a-z0-9_-]*")
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*")
_KEY_FILE = re.compile(r"(?:\.{1,2}/|/|~/)[^$:]+(?<!/)")
_REFERENCE = re.compile(r"\$\{([A-Z_][A-Z0-9_]*)\}")
_DEVICE = re.compile(r"none|[0-9]{1,3}|(?:GPU|MIG)-[0-9A-Za-z/-]+")
_IMAGE = re.compile(
    r"(?:(?:localhost|[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+)/|[A-Za-z0-9.-]+:[0-9]{1,5}/)?"  # registry
    r"[a-z0-9]+(?:[._-]+[a-z0-9]+)*(?:/[a-z0-9]+(?:[._-]+[a-z0-9]+)*)*"
    r"(?::[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(?:@sha256:[0-9a-f]{64})?"
)


class Refused(ValueError):
    """Why a value is refused: `what` is wrong, what is `needed`, a `hint`. With `secret` the value must not be shown;
    with `at_key` the key is wrong rather than its value."""

    def __init__(
        self, what: str, needed: str = "", hint: str = "", *, secret: bool = False, at_key: bool = False
    ) -> None:
        super().__init__(what)
        self.what = what
        self.needed = needed
        self.hint = hint
        self.secret = secret
        self.at_key = at_key


def slug(text: str) -> str:
    """The nearest valid name; "" when nothing is left."""
    near = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
    near = f"model-{near}" if near[:1].isdigit() else near
    return near[:NAME_LENGTH].rstrip("-")


def parser(text: str) -> str:
    """auto, off, or the name of a parser."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}", text):
        raise Refused(f"{quoted(text)} is not the name of a parser", "needed: auto, off, or a name such as hermes")
    return text


def name(text: str) -> str:
    """A model's or adapter's name: also a service, a host name and the prefix of a variable."""
    if not _NAME.fullmatch(text) or len(text) > NAME_LENGTH:
        near = slug(text)
        raise Refused(
            f"{quoted(text)} is not a valid name",
            f"needed: lower case letters, digits and -, a letter first, at most {NAME_LENGTH}, as in a host name",
            f"did you mean '{near}'?" if near and near not in RESERVED else "",
        )
    reason = RESERVED.get("download" if text.startswith("download-") else text)
    if reason:
        raise Refused(f"the name '{text}' is reserved", f"{reason}; choose another")
    variable = f"{text.upper().replace('-', '_')}_PORT"
    if variable in PORT_VARIABLES:
        reader = PORT_VARIABLES[variable]
        raise Refused(
            f"a service called '{text}' sets {variable}",
            f"Kubernetes puts an address into it in every container, and {reader} reads it as its port; choose another",
        )
    return text


def project(text: str) -> str:
    """The name of the Compose project."""
    if not _PROJECT.fullmatch(text) or len(text) > NAME_LENGTH:
        needed = f"needed: lower case letters, digits, - and _, a letter or digit first, at most {NAME_LENGTH}"
        raise Refused(f"{quoted(text)} is not a valid project name", needed, f"did you mean '{project_of(text)}'?")
    return text


def project_of(folder: str) -> str:
    """A folder's name as Compose makes a project name of it; `monogpu` when nothing is left."""
    return re.sub(r"[^a-z0-9_-]+", "-", folder.lower()).strip("-_")[:NAME_LENGTH].rstrip("-_") or "monogpu"


def device(value: Any) -> Any:
    """`gpu.device`: an index (also as a number), a UUID, or none."""
    text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    needed = 'needed: the index of a card such as "0", its UUID such as GPU-1a2b..., or none to serve on the CPU'
    if text is None:
        raise Refused("no value", needed)
    if not isinstance(text, str):
        return text
    if "," in text or text == "all":
        raise Refused(f"{quoted(text)} is more than one card", "write one manifest for each card")
    if not _DEVICE.fullmatch(text):
        raise Refused(
            f"{quoted(text)} is not a card", needed, "did you mean none?" if text.lower() in ("none", "cpu") else ""
        )
    return text


def bind(text: str) -> str:
    """The address of this machine that the router listens on."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        hint = "did you mean 127.0.0.1?" if text == "localhost" else ""
        needed = "needed: an address of this machine: 127.0.0.1 for local clients only, 0.0.0.0 for all"
        raise Refused(f"{quoted(text)} is not an IP address", needed, hint) from None
    if "%" in text:
        raise Refused(f"{quoted(text)} has a zone", "Docker cannot publish on a zone; write the address alone")
    return str(address)


def is_loopback(address: str) -> bool:
    """Whether only programs of this machine reach `address`."""
    return ipaddress.ip_address(address).is_loopback


def variable_name(text: str) -> str:
    """`router.api_key`: the name of a variable. A refused value may be the key itself, so it is never shown."""
    if not _VARIABLE.fullmatch(text):
        needed = "needed: the name of an environment variable, such as MONOGPU_API_KEY; put the key into the variable"
        hint = "write the name without $ and braces" if text.startswith("$") else ""
        raise Refused("not the name of a variable", needed, hint, secret=True)
    return text


def key_file(text: str) -> str:
    """`router.api_key_file`: a path. A refused value may be the key itself, so it is never shown."""
    if not _KEY_FILE.fullmatch(text) or not text.isprintable():
        needed = "needed: a path that begins with ./ or / or ~/, such as ./secrets/api-key"
        raise Refused("not the path of a file", needed, secret=True)
    return text


def variable_of(text: str) -> str | None:
    """The NAME in a value that is exactly `${NAME}`, which is read from the environment when the stack starts."""
    match = _REFERENCE.fullmatch(text)
    return match.group(1) if match else None


def image(text: str) -> str:
    """A container image."""
    if len(text) > 512 or not _IMAGE.fullmatch(text):
        needed = "needed: an image such as vllm/vllm-openai:v0.26.0 or registry:5000/name@sha256:..."
        raise Refused(f"{quoted(text)} is not an image", needed)
    return text


def memory(value: Any) -> int:
    """A size of at least 256 MiB, or Refused."""
    return _size(value, 256 * MIB, "no engine runs in less than 256MiB")


def reserve(value: Any) -> int:
    """A size, or 0."""
    nothing = value == 0 and type(value) is int
    return 0 if nothing else _size(value, MIB, "a reserve is at least 1MiB, or 0")


def _size(value: Any, least: int, reason: str) -> int:
    if isinstance(value, float) or (isinstance(value, str) and value.endswith("%")):
        needed = "needed: a size such as 4GiB; shares are not supported"
        raise Refused(f"{shown(value)} is a fraction of the card", needed)
    try:
        size = parse_bytes(value)
    except ValueError as error:
        raise Refused(f"{shown(value)} is not a size", f"needed: {error}", _unit_hint(value)) from None
    if size < least:
        unit = "GiB" if size < 100 else "MiB"
        raise Refused(
            f"{shown(value)} is {size} bytes", reason, f"did you mean {value}{unit}?" if value == size else ""
        )
    if size > LARGEST:
        raise Refused(f"{shown(value)} is more than any card has", "needed: a size such as 4GiB or 512MiB")
    return size


def _unit_hint(value: Any) -> str:
    match = re.fullmatch(r"\s*([0-9.]+)\s*([KMGTkmgt])[iI]?\s*", value) if isinstance(value, str) else None
    return f"did you mean {match.group(1)}{match.group(2).upper()}iB?" if match else ""


def memory_or_auto(value: Any) -> int | Literal["auto"]:
    """A worker's whole footprint."""
    return "auto" if value == "auto" else memory(value)


def count_or_auto(value: Any) -> int | Literal["auto"]:
    """Tokens or requests: at least 1."""
    if value == "auto":
        return "auto"
    try:
        count = parse_count(value)
    except ValueError as error:
        raise Refused(f"{shown(value)} is not a count", f"needed: auto, or {error}", _count_hint(value)) from None
    if not 0 < count <= LONGEST:
        raise Refused(f"{shown(value)} is out of range", f"needed: 1 to {LONGEST}, or auto")
    return count


def _count_hint(value: Any) -> str:
    return f"did you mean {int(value)}?" if isinstance(value, float) and value.is_integer() else ""


def shown(value: Any) -> str:
    """A value as messages show it."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, dict):
        return "a mapping"
    return "a list" if isinstance(value, list | tuple) else str(value)
