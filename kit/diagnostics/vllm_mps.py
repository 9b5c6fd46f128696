"""NVIDIA MPS: what its clients say, and what its daemon does. Pure."""

from __future__ import annotations

from kit.diagnostics.pattern import Pattern

_LOOK = "`monogpu-kit logs mps` says more"

PATTERNS: tuple[Pattern, ...] = (
    Pattern(
        r"MPS server is not ready to accept new MPS client requests|cudaErrorMpsServerNotReady"
        r"|CUDA_ERROR_MPS_SERVER_NOT_READY",
        "the NVIDIA MPS server is starting, or ends its clients after one's kernel failed",
        f"this passes once all of them have ended; {_LOOK}",
        retryable=True,
    ),
    Pattern(
        r"MPS client failed to connect to the MPS|cudaErrorMpsConnectionFailed|CUDA_ERROR_MPS_CONNECTION_FAILED",
        "the worker cannot reach the NVIDIA MPS daemon: its server did not start, it runs as another user, or /dev/shm "
        "is not shared with it",
        f"{_LOOK}; a daemon of the host is ended by `echo quit | sudo nvidia-cuda-mps-control`",
    ),
    Pattern(
        r"between the MPS server and the MPS client|cudaErrorMpsRpcFailure|CUDA_ERROR_MPS_RPC_FAILURE"
        r"|MPS client has been terminated by the server|cudaErrorMpsClientTerminated|CUDA_ERROR_MPS_CLIENT_TERMINATED",
        "the NVIDIA MPS server ended while the worker ran: its daemon was stopped, or a kernel of another worker "
        "failed",
        f"workers start again by themselves; {_LOOK}",
        retryable=True,
    ),
    Pattern(
        r"resources required to (?:create MPS client|support device connections) have been exhausted"
        r"|cudaErrorMpsMax\w+|CUDA_ERROR_MPS_MAX_\w+",
        "the NVIDIA MPS server takes no further client",
        "fewer workers or replicas on this card, or `gpu: {mps: false}`",
    ),
    Pattern(
        r"(?P<program>nvidia-cuda-mps-\w+): (?:not found|No such file)",
        "the container has no {program}: NVIDIA's runtime did not mount it",
        "with `gpu.access: cdi`, `sudo nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml`; `monogpu-kit doctor` "
        "looks at it; or write `gpu: {mps: false}`",
    ),
    Pattern(
        r"An instance of this daemon is already running",
        "another NVIDIA MPS daemon uses the same folder",
        "`docker ps` and `ps -e | grep mps` show who; `echo quit | sudo nvidia-cuda-mps-control` ends one of the host",
    ),
    Pattern(
        r"Server encountered a fatal exception|(?:Legacy )?Server\s+\d+\] Failed to start ?(?P<why>: [^\n]{1,200})",
        "the NVIDIA MPS server cannot start{why}",
        "`monogpu-kit doctor` looks at the driver and the card's compute mode; `gpu: {mps: false}` does without it",
    ),
)
