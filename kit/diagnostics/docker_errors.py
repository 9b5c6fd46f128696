"""Errors of the Docker Engine and of registries. Pure."""

from __future__ import annotations

from kit.diagnostics.pattern import Explanation, Pattern, first

PATTERNS: tuple[Pattern, ...] = (
    Pattern(
        r'could not select device driver "(?P<driver>[^"]*)" with capabilities: \[\[gpu',
        "Docker has no driver {driver} that gives a container the card",
        "install the NVIDIA container toolkit and restart Docker, or write `gpu: {access: cdi}`",
    ),
    Pattern(
        r"unresolvable CDI devices (?P<device>[^\s:]+)",
        "there is no CDI device {device} here",
        "`nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml`, and `features: {cdi: true}` in daemon.json",
    ),
    Pattern(
        r"nvidia-container-cli: (?P<why>[^\n]+)",
        "the NVIDIA container toolkit cannot give the card: {why}",
        "`nvidia-smi` must work on the host first",
    ),
    Pattern(
        r"(?:port is already allocated|address already in use)",
        "the port is taken",
        "stop the program that uses it, or write another `router: {port: ...}`",
    ),
    Pattern(
        r"cannot assign requested address",
        "this machine does not have the address that the router is bound to",
        "write `router: {bind: 127.0.0.1}`",
    ),
    Pattern(
        r'container name "/(?P<name>[^"]+)" is already in use',
        "a container {name} exists",
        "is another `up` running? Else `docker rm -f {name}`",
    ),
    Pattern(
        r"bind source path does not exist: (?P<path>\S+)",
        "there is no {path} to mount",
        "render again, or fix the path",
    ),
    Pattern(
        r"toomanyrequests|rate limit",
        "the registry limits the rate of downloads",
        "`docker login`, or wait",
    ),
    Pattern(
        r"unauthorized|pull access denied|denied: ",
        "the registry has no such image, or it is private",
        "look at the image's name; a private one needs `docker login`",
    ),
    Pattern(
        r"manifest unknown|manifest for \S+ not found|not found: manifest",
        "the registry has no such tag",
        "look at the image's tag",
    ),
    Pattern(
        r"no matching manifest for (?P<platform>\S+)",
        "the image is not made for {platform}",
        "take another image: `image:`",
    ),
    Pattern(
        r"(?:no such host|dial tcp|i/o timeout|connection refused|TLS handshake|Client\.Timeout|network is unreachable"
        r"|request canceled|proxyconnect)",
        "the registry cannot be reached",
        "look at the network and at Docker's proxy settings, or `docker load` the image",
    ),
    Pattern(
        r"[Nn]o such image",
        "the image is not on this machine",
        "`up` pulls it; was it removed just now?",
    ),
    Pattern(
        r"no space left on device",
        "the disk is full",
        "`docker system df` shows what Docker holds; `docker image prune` frees some",
    ),
    Pattern(
        r"could not find an available, non-overlapping IPv4|all predefined address pools have been fully subnetted",
        "Docker has no addresses left for another network",
        "`docker network prune`",
    ),
    Pattern(
        r"has active endpoints",
        "containers that are not this project's are on the network",
        "`docker network inspect` names them",
    ),
    Pattern(
        r"volume is in use",
        "a container that is not this project's uses the volume",
        "`docker ps -a --filter volume=NAME` names it",
    ),
    Pattern(
        r'exec: "(?P<program>[^"]+)": .*(?:not found|no such file)',
        "the image has no program {program}",
        "look at `image`, `entrypoint` and `command`",
    ),
    Pattern(
        r"unknown or invalid runtime name|[Uu]nknown runtime",
        "Docker does not know that runtime",
        "take `runtime:` out; the kit needs none",
    ),
    Pattern(
        r"permission denied",
        "Docker may not do that",
        "look at Docker's own log: `journalctl -u docker`",
    ),
)


def explain(text: str) -> Explanation | None:
    """What an error of Docker means; None for an unknown one."""
    return first(PATTERNS, text)
