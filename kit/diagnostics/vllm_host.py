"""The container and the machine around it. Pure."""

from __future__ import annotations

from kit.diagnostics.pattern import Pattern

PATTERNS: tuple[Pattern, ...] = (
    Pattern(
        r"has no attribute 'init_cpu_memory_env'|libnuma\.so\.1: cannot open",
        "the image lacks libnuma1, which vLLM needs on the CPU",
        "build the image again: scripts/build-images",
    ),
    Pattern(
        r"Insufficient space in /dev/shm for shared-memory allocation: (?P<needed>\d+ \w+) required, "
        r"(?P<free>\d+ \w+) free",
        "the container's shared memory is too small: {needed} are needed, and {free} are free",
        "raise `shm_size`: the kit prints 1 GiB",
    ),
    Pattern(
        r"unable to write to file </torch_\S+ No space left|/dev/shm[^\n]{0,400}No space left"
        r"|insufficient shared memory|Bus error",
        "the container's shared memory is full",
        "raise `shm_size`",
    ),
    Pattern(
        r"No space left on device|[Nn]ot enough free disk space",
        "the disk is full",
        "`docker system df` shows what Docker holds; `docker image prune` frees some",
    ),
    Pattern(
        r"Read-only file system: '(?P<path>[^']+)'",
        "the container may not write {path}",
        "mount a volume there: `volumes` of the model",
    ),
    Pattern(
        r"No usable temporary directory found",
        "the container can write no temporary files: /tmp is read only or full",
        "render again: the kit mounts memory at /tmp",
    ),
    Pattern(
        r"(?:PermissionError|Permission denied)[^\n]{0,400}?'(?P<path>/[^']+)'",
        "the container's user may not use {path}",
        "`chmod -R a+rX` what is mounted there",
    ),
    Pattern(
        r"PermissionError: \[Errno 13\] Permission denied|Permission denied \(os error 13\)",
        "the container's user may not use a file",
        "`chmod -R a+rX` what is mounted",
    ),
    Pattern(
        r"getpwuid\(\): uid not found: (?P<uid>\d+)",
        "the container's user {uid} has no name, and PyTorch asks for one",
        "write `env: {USER: vllm}` for the model",
    ),
    Pattern(
        r"[Aa]ddress already in use",
        "the port is taken inside the container",
        "look at `args` of the model: two servers want one port",
    ),
    Pattern(
        r"(?<!like `)OSError: \[Errno 24\] Too many open files|Too many open files \(os error 24\)",
        "more files and connections are open than the container may have",
        "raise the daemon's limit: `default-ulimits` in daemon.json, nofile",
    ),
    Pattern(
        r"can't start new thread|Resource temporarily unavailable|pthread_create failed",
        "no further thread can be started",
        "raise the limits on processes: `docker info` shows PidsLimit, `ulimit -u` the user's",
    ),
    Pattern(
        r"Timed out waiting for engine core processes to start[^\n]{0,400}?Waited (?P<seconds>\d+)s",
        "loading took longer than the {seconds} s that vLLM gives itself",
        "write `env: {VLLM_ENGINE_READY_TIMEOUT_S: '3600'}` for the model; a cold disk or a busy machine is the reason",
        retryable=True,
    ),
    Pattern(
        r"Illegal instruction",
        "the processor lacks an instruction that the image was built for",
        "take an image built for this processor",
    ),
)
