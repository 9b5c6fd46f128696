"""The engine's processes among each other: NCCL, Gloo, ZeroMQ, threads and ports. Pure."""

from __future__ import annotations

from kit.diagnostics.pattern import Pattern

_ALONE = "write `env: {GLOO_SOCKET_IFNAME: lo, NCCL_SOCKET_IFNAME: lo, VLLM_HOST_IP: 127.0.0.1}` for the model"

PATTERNS: tuple[Pattern, ...] = (
    Pattern(
        r"Unable to find (?:interface|address) for|no socket interface found|unsupported gloo device"
        r"|makeDevice\w*\(\)|The IPv[46] network addresses of \([^)]*\) cannot be retrieved|gai error: -\d"
        r"|Failed to (?:find|get) (?:a )?(?:network )?interface|NCCL WARN Bootstrap : no socket"
        r"|connectFullMesh failed|gethostbyname[^\n]{0,40}fail"
        r"|network interface for Gloo",
        "the engine's processes do not find a network interface of the container to talk over",
        _ALONE,
    ),
    Pattern(
        r"client socket has timed out after|DistNetworkError|DistStoreError|Timed out (?:after|while) "
        r"[^\n]{0,80}waiting for clients"
        r"|Socket Timeout|TCPStore[^\n]{0,80}(?:timed? ?out|failed)",
        "the engine's processes did not reach each other in time",
        f"{_ALONE}; a proxy in `env` must not cover 127.0.0.1 (NO_PROXY)",
        retryable=True,
    ),
    Pattern(
        r"Duplicate GPU detected|ncclInvalidUsage"
        r"|divisible by tensor parallel size",
        "the engine was asked to spread over several cards, or to use one twice",
        "take parallel sizes out of `args`; `replicas:` runs several workers on one card",
    ),
    Pattern(
        r"gloo[^\n]{0,120}Connection (?:closed|reset) by peer",
        "one of the engine's processes ended, and another notices it",
        "the log of the one that ended says why: read further up, `monogpu-kit logs NAME --tail 1000`",
        general=True,
    ),
    Pattern(
        r"(?:Error while creating shared memory segment|/dev/shm/nccl)[^\n]{0,200}",
        "NCCL gets no shared memory",
        "raise `shm_size`: the kit prints 1 GiB",
    ),
    Pattern(
        r"NCCL (?:error|WARN)(?![^\n]{0,300}out of memory)[^\n]{0,400}|ncclUnhandledCudaError|nccl(?:System|Internal"
        r"|Remote)Error",
        "NCCL, which the engine starts even for one card, could not be set up",
        "write `env: {NCCL_DEBUG: INFO}` for the model and read its log; often /dev/shm or the network is the reason",
        general=True,
    ),
    Pattern(
        r'ipc path "[^"]*" is longer than \d+ characters|AF_UNIX path too long',
        "the path of a socket in the container is too long: TMPDIR or VLLM_RPC_BASE_PATH names a deep folder",
        "write `env: {VLLM_RPC_BASE_PATH: /tmp}` for the model, and take TMPDIR out",
    ),
    Pattern(
        r"[Aa]ddress already in use|EADDRINUSE|server socket has failed to (?:bind|listen)",
        "the port is taken inside the container",
        "look at `args` of the model: two servers want one port",
    ),
    Pattern(
        r"can't start new thread|Resource temporarily unavailable|pthread_create failed(?!: (?:Op|EPERM))"
        r"|OpenBLAS blas_thread_init|libgomp: Thread creation failed|BlockingIOError: \[Errno 11\]",
        "no further thread can be started",
        "raise the limits on processes: `docker info` shows PidsLimit, `ulimit -u` the user's",
    ),
    Pattern(
        r"[Tt]oo many open files",
        "more files and connections are open than the container may have",
        "raise the daemon's limit: `default-ulimits` in daemon.json, nofile",
        unless=r"limit errors like",
    ),
    Pattern(
        r"Timed out waiting for engine core processes to start[^\n]{0,400}?Waited (?P<seconds>\d+)s",
        "loading took longer than the {seconds} s that vLLM gives itself",
        "write `env: {VLLM_ENGINE_READY_TIMEOUT_S: '3600'}` for the model; a cold disk or a busy machine is the reason",
        retryable=True,
    ),
    Pattern(
        r"RPC call to \S+ timed out|sample_tokens timed out|execute_model timed out|TimeoutError: RPC|No available "
        r"shared memory broadcast block",
        "a step of the engine took longer than vLLM waits: it compiles, the card is shared with others, or it hangs",
        "write `env: {VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS: '1800'}` for the model; `nvidia-smi` shows who uses the card",
        retryable=True,
    ),
    Pattern(
        r"cannot schedule new futures after",
        "the server was being ended while it still started",
        "look at what stopped it: `docker events` names `stop` and `kill`",
        general=True,
    ),
)
