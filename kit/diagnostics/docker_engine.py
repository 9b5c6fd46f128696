"""The Engine itself: its socket and version, names, networks, volumes, ports, and what holds them. Pure."""

from __future__ import annotations

from kit.diagnostics.pattern import Pattern

_DOCKER_LOG = "`journalctl -u docker` says more"

PATTERNS: tuple[Pattern, ...] = (
    Pattern(
        r"permission denied while trying to connect to the [Dd]ocker|dial unix \S+: connect: permission denied",
        "this user may not use Docker's socket",
        "`sudo usermod -aG docker $USER`, then log in again",
    ),
    Pattern(
        r"Cannot connect to the Docker daemon|Is the docker daemon running|dial unix \S+: connect: (?:no such"
        r"|connection)"
        r"|open //\./pipe/docker|failed to connect to the docker API"
        r"|failed to start daemon|Error initializing network controller|ttrpc: closed",
        "Docker's daemon does not answer",
        "`sudo systemctl start docker`; Docker Desktop must be open; look at DOCKER_HOST and `docker context ls`",
    ),
    Pattern(
        r"client version (?P<client>[\d.]+) is too new\. Maximum supported API version is (?P<most>[\d.]+)",
        "Docker's daemon is older than its client: it speaks its API up to {most}, and was asked for {client}",
        "update Docker's daemon, or set DOCKER_API_VERSION={most}",
    ),
    Pattern(
        r"client version (?P<client>[\d.]+) is too old\. Minimum supported API version is (?P<least>[\d.]+)",
        "the client of Docker's API is older than the daemon takes: it speaks {client}, and {least} is the oldest",
        "update what asked (`docker`, Compose, or this kit); DOCKER_API_VERSION must not hold it back",
    ),
    Pattern(
        r"json: cannot unmarshal \w+ into Go (?:struct field|value)",
        "Docker's daemon does not understand what it was asked: it is Podman or an old version",
        "use Docker's own engine, in a version that is supported",
    ),
    Pattern(
        r"Ports are not available: [^\n]{0,300}(?:forbidden by its access permissions|access a socket)",
        "Windows has reserved that port for itself (Hyper-V takes whole ranges at a start)",
        "`netsh interface ipv4 show excludedportrange protocol=tcp` lists them; write another `router: {port: ...}`",
    ),
    Pattern(
        r"cannot expose privileged port|bind: permission denied",
        "a port below 1024 is for root, and Docker runs without",
        "write `router: {port: ...}` with a number from 1024 on",
    ),
    Pattern(
        r"port is already allocated|address already in use",
        "the port is taken",
        "stop the program that uses it, or write another `router: {port: ...}`",
    ),
    Pattern(
        r"cannot assign requested address",
        "this machine does not have the address that the router is bound to",
        "write `router: {bind: 127.0.0.1}`",
    ),
    Pattern(
        r'container name "/(?P<name>[^"]+)" is already in use'
        r"|removal of container (?P<going>\S+) is already in progress",
        "a container {name}{going} exists",
        "is another `up` running? Else `docker rm -f {name}{going}`",
    ),
    Pattern(
        r"[Nn]o such container|container \S+ (?:is not running|not found)|is marked for removal",
        "the container is gone: something else removed it in the meantime",
        "run the same command again; is another `up`, `down` or a cleaner running?",
    ),
    Pattern(
        r"is restarting, wait until|container is running: stop the container|device or resource busy",
        "the container or its files are still in use: it restarts, or ends just now",
        "try again in some seconds; `docker ps -a` shows its state",
        retryable=True,
    ),
    Pattern(
        r"is zombie and can not be killed|did not receive an exit event|could not kill container|tried to kill "
        r"container",
        "a process in the container does not end, most often because the kernel or the driver holds it",
        "`sudo dmesg | tail` says why; restart Docker, and reboot if the card hangs",
    ),
    Pattern(
        r"ip6tables(?: failed|:|v\d| --)|ip6_tables|failed to set up IPv6 tables",
        "Docker cannot set up IPv6 rules: the kernel has no ip6tables",
        'load the module, `sudo modprobe ip6_tables`, or write `"ip6tables": false` into daemon.json',
    ),
    Pattern(
        r"[Uu]nable to enable (?:SKIP DNAT|ACCEPT|DIRECT|NAT)|iptables(?: failed|:|v\d| --)|Failed to Setup IP tables"
        r"|programming NAT chains|nftables: [^\n]{0,80}failed",
        "Docker cannot write its firewall rules: the firewall was started again after Docker, or the kernel lacks a "
        "module",
        "`sudo systemctl restart docker`; after an update of the kernel, reboot",
    ),
    Pattern(
        r"failed to add the host \([^)]*\) <=> sandbox|operation not supported[^\n]{0,60}veth|veth[^\n]{0,80}not "
        r"supported"
        r"|modprobe: FATAL: Module (?P<module>\S+) not found",
        "the running kernel has no module {module} that Docker needs: it was updated and its modules are gone",
        "reboot this machine",
        unless=r"ip6_?tables",
    ),
    Pattern(
        r"Pool overlaps with other one|conflicts with network \S+ \(\S+\): networks have (?:same|overlapping)",
        "the addresses of a network overlap those of another",
        "take `subnet` out of the network, or `docker network ls` and remove the other one",
    ),
    Pattern(
        r"could not find an available, non-overlapping IPv4|all predefined address pools have been fully subnetted",
        "Docker has no addresses left for another network",
        "`docker network prune`",
    ),
    Pattern(
        r"has active endpoints|endpoint with name \S+ already exists",
        "containers that are not this project's are on the network",
        "`docker network inspect` names them",
    ),
    Pattern(
        r"network \S+ not found|network \S+ declared as external, but could not be found|network with name \S+ "
        r"already exists"
        r"|has incorrect label|network \S+ is ambiguous",
        "a network is not as it was expected: it was removed or made by something else",
        "`monogpu-kit down`, then `monogpu-kit up`, makes the project's networks again",
    ),
    Pattern(
        r'volume "?(?P<name>[^"\s]+)"? already exists but was (?:not created by|created for)',
        "the volume {name} belongs to another project",
        "another `name:` in the manifest makes volumes of its own; `docker volume rm {name}` removes it with its data",
    ),
    Pattern(
        r"conflicts with existing volume options|Volume \S+ exists but doesn't match configuration",
        "a volume of that name exists with other options",
        "`docker volume inspect` shows them; `docker volume rm` removes it with its data",
    ),
    Pattern(
        r"volume is in use",
        "a container that is not this project's uses the volume",
        "`docker ps -a --filter volume=NAME` names it",
    ),
    Pattern(
        r"no space left on device",
        "the disk is full",
        "`docker system df` shows what Docker holds; `docker image prune` frees some",
    ),
    Pattern(
        r"read-only file system",
        "a disk that Docker writes to is read only: mounted so, or turned so by the kernel after an error",
        "`sudo dmesg | tail`, and `mount` for what /var/lib/docker lies on",
        unless=r"mount source path",
    ),
    Pattern(
        r"input/output error",
        "a disk failed to read or write",
        "`sudo dmesg | tail` names it; what Docker stores there may be damaged",
    ),
    Pattern(
        r"context deadline exceeded|context canceled",
        "Docker, or what it waited for, did not answer in time",
        f"try again; {_DOCKER_LOG}",
        retryable=True,
        general=True,
    ),
    Pattern(
        r"permission denied",
        "Docker may not do that",
        f"look at Docker's own log: {_DOCKER_LOG}",
        general=True,
    ),
)
