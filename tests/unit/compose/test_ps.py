"""What a container's log says, by the state that it is in."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kit.compose.observed import ContainerSummary
from kit.compose.ps import said_by

RUNS = ContainerSummary(id="a", name="x-ollama-1", service="ollama", number=1, image="sha256:1", status="running")
ENDED = replace(RUNS, status="exited", exit_code=1)
REFUSED = (
    "failed to create task for container: OCI runtime create failed: nvidia-container-cli: requirement error: "
    "unsatisfied condition: cuda>=13.0, please update your driver to a newer version: unknown"
)
HALF = "load_tensors: offloaded 13/33 layers to GPU"
CASES = {
    "layers that are not on the card of a server that runs": (RUNS, HALF, "only 13 of 33 layers are on the card"),
    "a request that was too long for a worker that runs": (
        RUNS,
        "ValueError: This model's maximum context length is 8192 tokens. However, you requested 9000 tokens",
        "a request is longer than the worker's context",
    ),
    "an old error of a worker that runs": (RUNS, "OSError: [Errno 28] No space left on device", ""),
    "a worker that ended": (ENDED, "OSError: [Errno 28] No space left on device", "the disk is full"),
    "a worker that is unhealthy": (
        replace(RUNS, health="unhealthy"),
        "torch.OutOfMemoryError: CUDA out of memory.",
        "the card ran out of memory",
    ),
    "a container that Docker could not start": (
        replace(RUNS, status="created", exit_code=128, error=REFUSED),
        "",
        "the NVIDIA driver is too old for the image, which needs cuda>=13.0",
    ),
    "an exit code alone": (replace(ENDED, exit_code=143), "", "it was asked to end (SIGTERM)"),
    "a download that is done": (
        replace(ENDED, exit_code=0, labels={"monogpu.role": "download"}),
        "CERTIFICATE_VERIFY_FAILED, tried again",
        "",
    ),
}


@pytest.mark.parametrize(("container", "log", "cause"), CASES.values(), ids=CASES)
def test_a_log_is_read_by_the_state_of_its_container(container: ContainerSummary, log: str, cause: str) -> None:
    found = said_by(container, log)
    assert (found is None) == (cause == "")
    assert found is None or cause in found.cause
