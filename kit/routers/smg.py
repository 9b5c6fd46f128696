"""SMG, the router: one OpenAI endpoint that sends each request to the worker of the name in its "model".

It reads a list of workers from a file, again whenever the file changes, so a model comes or goes without a restart.
The folder is mounted, not the file: a file that is replaced by rename would stay the old one inside the container.
"""

from __future__ import annotations

import json

from kit.bill import Plan
from kit.labels import ROLE
from kit.stack import EDGE, WORKERS, Attachment, File, Health, Mount, Port, Route, Secret, Service, Value

DEFAULT_IMAGE = "lightseekorg/smg:1.13.0"
PORT = 30000
METRICS_PORT = 29000
NAME = "router"
FOLDER = "smg"
USER = "65532:65532"
DRAIN_SECONDS = 30

_FLAGS = (
    "--host", "0.0.0.0",
    "--port", str(PORT),
    "--prometheus-port", str(METRICS_PORT),
    "--discovery-provider", "file",
    "--discovery-file", "/etc/smg/workers.json",
    "--discovery-check-interval-secs", "5",
    # A worker that is down answers 503 under its name instead of leaving the list and answering 404.
    "--no-remove-unhealthy-workers",
    "--health-check-interval-secs", "5",
    "--health-check-timeout-secs", "3",
    "--health-failure-threshold", "2",
    "--health-success-threshold", "1",
    "--worker-startup-check-interval", "2",
    "--shutdown-grace-period-secs", str(DRAIN_SECONDS),
    "--history-backend", "none",
    "--log-level", "info",
    "--log-json",
)  # fmt: skip

# SMG takes its key by argument only. Compose would print an argument's value in `docker ps`; so the key travels in the
# environment of this one container, and a shell hands it over.
_WITH_KEY = 'exec python3 -m smg.launch_router "$@" --api-key "$MONOGPU_API_KEY"'

_READY = (
    f"import http.client as h; c = h.HTTPConnection('127.0.0.1', {PORT}, timeout=4); "
    "c.request('GET', '/readiness'); raise SystemExit(c.getresponse().status != 200)"
)


def service(plan: Plan, workers: tuple[str, ...]) -> Service:
    """The router. It alone is published, and starts when every one of `workers` is healthy."""
    wish = plan.manifest.router
    return Service(
        name=NAME,
        comment=_comment(wish.api_key),
        image=wish.image or DEFAULT_IMAGE,
        entrypoint=("sh", "-c", _WITH_KEY, "smg") if wish.api_key else None,
        command=(*_FLAGS, "--policy", wish.policy),
        # Docker may hand the host's proxy to every container; the workers are not behind it.
        environment=(*_key(wish.api_key), ("NO_PROXY", "*")),
        mounts=(Mount("bind", f"./{FOLDER}", "/etc/smg", read_only=True), Mount("tmpfs", "size=67108864", "/tmp")),
        networks=(Attachment(EDGE), Attachment(WORKERS)),
        ports=(Port(wish.bind, wish.port, PORT),),
        health=Health(("python3", "-c", _READY), interval=5, timeout=5, retries=3, start_period=60),
        depends_on=tuple((worker, "service_healthy") for worker in workers),
        # Longer than the drain, so that requests in flight are finished before Docker kills.
        stop_grace=DRAIN_SECONDS + 15,
        user=USER,
        read_only=True,
        labels=((ROLE, "router"),),
    )


def files(routes: tuple[Route, ...]) -> tuple[File, ...]:
    """The list of workers, one a line. An adapter is its worker once more under another host name: SMG knows a worker
    by its address, and a model alias would send the base model's name upstream."""
    workers = [
        {"id": route.host, "url": f"http://{route.host}:{route.port}", "model_id": route.model_id} for route in routes
    ]
    lines = ",\n".join(f"    {json.dumps(worker, ensure_ascii=False)}" for worker in workers)
    return (File(f"{FOLDER}/workers.json", f'{{\n  "version": 1,\n  "workers": [\n{lines}\n  ]\n}}\n'),)


def _comment(api_key: str | None) -> tuple[str, ...]:
    reach = f"with the key that ${api_key} holds" if api_key else "without a key"
    return (f"The one endpoint, reached {reach}. It reads {FOLDER}/workers.json, again whenever that changes.",)


def _key(api_key: str | None) -> tuple[tuple[str, Value], ...]:
    return (
        (("MONOGPU_API_KEY", Secret(api_key, "the key that clients must send, in the environment or in .env")),)
        if api_key
        else ()
    )
