"""vLLM's own router: one model, over its replicas. It adds a little less to a request than SMG, and does much less.

It does not look at the model's name: whatever is asked goes to any worker, and the worker itself refuses a name that
it does not serve. So it can serve the replicas of one model (with its adapters, which every replica has), and no
second model, which kit/manifest/rules.py refuses. Nor does it check a key of clients: its own --api-key is what it
sends to workers. Its list of workers is fixed when it starts. Like SMG it does not route rankings (see haproxy.py).

/workers is open to whoever reaches the port, and it has no switch for that: it listens on this machine alone.
"""

from __future__ import annotations

from kit.memory.bill import Plan
from kit.stack.labels import ROLE
from kit.stack.model import EDGE, WORKERS, Attachment, File, Mount, Port, Route, Service, http_health

# No image is published; scripts/build-images makes this one from the wheel.
DEFAULT_IMAGE = "monogpu/vllm-router:0.1.17"
PORT = 30000
WORKER_PORT = 8000  # where vLLM listens: the engines import routers, so they cannot be asked here
METRICS_PORT = 29000
NAME = "router"
USER = "65532:65532"

_FLAGS = (
    "--host", "0.0.0.0",
    "--port", str(PORT),
    "--prometheus-port", str(METRICS_PORT),
    "--worker-startup-check-interval", "2",
    "--health-check-interval-secs", "5",
    "--health-check-timeout-secs", "3",
    "--health-failure-threshold", "2",
    "--health-success-threshold", "1",
    # A worker that failed ten times in a row, because it was started again, is asked again as soon as it answers: by
    # default it would be refused for a minute more.
    "--cb-timeout-duration-secs", "5",
    "--cb-success-threshold", "1",
    "--log-level", "info",
)  # fmt: skip


def service(plan: Plan, workers: tuple[str, ...]) -> Service:
    """The router, which starts when every one of `workers`, the replicas, is healthy."""
    router = plan.manifest.router
    return Service(
        name=NAME,
        comment=("The one endpoint, reached without a key: vLLM's router, over the replicas of one model.",),
        image=router.image or DEFAULT_IMAGE,
        entrypoint=("python3", "-m", "vllm_router.launch_router"),
        command=(*_FLAGS, "--policy", router.policy, "--worker-urls", *(f"http://{w}:{WORKER_PORT}" for w in workers)),
        environment=(("NO_PROXY", "*"),),
        mounts=(Mount("tmpfs", "size=67108864", "/tmp"),),
        networks=(Attachment(EDGE), Attachment(WORKERS)),
        ports=(Port(router.bind, router.port, PORT),),
        health=http_health(PORT, "/readiness", retries=3, start_period=60),
        depends_on=tuple((worker, "service_healthy") for worker in workers),
        user=USER,
        read_only=True,
        restart="unless-stopped",
        labels=((ROLE, "router"),),
    )


def files(routes: tuple[Route, ...]) -> tuple[File, ...]:
    """None: its list of workers is in its arguments."""
    return ()
