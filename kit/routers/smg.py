"""SMG, the router: one OpenAI endpoint that sends each request to the worker of the name in its "model".

It reads a list of workers from a file, again whenever the file changes, so a model comes or goes without a restart.
The folder is mounted, not the file: a file that is replaced by rename would stay the old one inside the container.

What an endpoint with a key still shows without it, since SMG 1.13 has no switch for it: /v1/models (the names),
/engine_metrics (the workers' counters and host names), /health and /readiness. Nothing is served, and nothing can be
changed: /workers and the rest of the control plane want a key that no client has (smg_launch.py), with or without a
key for clients, and the router's own metrics are bound to 127.0.0.1 inside its container.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from kit.manifest.model import RouterConfig
from kit.memory.bill import Plan
from kit.stack.labels import ROLE
from kit.stack.model import (
    EDGE,
    WORKERS,
    Attachment,
    File,
    Mount,
    Port,
    Route,
    Secret,
    Service,
    http_health,
)

DEFAULT_IMAGE = "lightseekorg/smg:1.13.0"
PORT = 30000
METRICS_PORT = 29000
NAME = "router"
FOLDER = "smg"
LISTING = f"{FOLDER}/workers.json"
USER = "65532:65532"
DRAIN_SECONDS = 30

_FLAGS = (
    "--host", "0.0.0.0",
    "--port", str(PORT),
    "--prometheus-host", "127.0.0.1",
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
    # A worker that failed ten times in a row, because it was started again, is asked again as soon as it answers: by
    # default it would be refused for a minute more.
    "--cb-timeout-duration-secs", "5",
    "--cb-success-threshold", "1",
    "--worker-startup-check-interval", "2",
    "--shutdown-grace-period-secs", str(DRAIN_SECONDS),
    "--history-backend", "none",
    "--log-level", "info",
    "--log-json",
)  # fmt: skip

LAUNCH = Path(__file__).with_name("smg_launch.py").read_text(encoding="utf-8")
KEY_FILE = "/run/secrets/api-key"


def service(plan: Plan, workers: tuple[str, ...]) -> Service:
    """The router. It alone is published, and starts when every one of `workers` is healthy."""
    router = plan.manifest.router
    key = (
        Secret(router.api_key, "the key that clients must send, in the environment or in .env")
        if router.api_key
        else None
    )
    return Service(
        name=NAME,
        comment=_comment(router),
        image=router.image or DEFAULT_IMAGE,
        entrypoint=("python3", "/etc/smg/launch.py", "env" if key else "file" if router.api_key_file else "open"),
        command=(*_FLAGS, "--policy", router.policy),
        # Docker may hand the host's proxy to every container; the workers are not behind it.
        environment=(*((("MONOGPU_API_KEY", key),) if key else ()), ("NO_PROXY", "*")),
        mounts=_mounts(router),
        networks=(Attachment(EDGE), Attachment(WORKERS)),
        ports=(Port(router.bind, router.port, PORT),),
        health=http_health(PORT, "/readiness", retries=3, start_period=60),
        depends_on=tuple((worker, "service_healthy") for worker in workers),
        # Longer than the drain, so that requests in flight are finished before Docker kills.
        stop_grace=DRAIN_SECONDS + 15,
        user=USER,
        read_only=True,
        restart="unless-stopped",
        labels=((ROLE, "router"),),
    )


def files(routes: tuple[Route, ...]) -> tuple[File, ...]:
    """The list of workers, one a line. An adapter is its worker once more under another host name: SMG knows a worker
    by its address, and a model alias would send the base model's name upstream."""
    workers = [
        {"id": route.host, "url": f"http://{route.host}:{route.port}", "model_id": route.model_id} for route in routes
    ]
    return (File(LISTING, listing(workers)), File(f"{FOLDER}/launch.py", LAUNCH))


def listing(workers: Iterable[Mapping[str, str]]) -> str:
    """SMG's file of workers (`id`, `url`, `model_id`), one a line."""
    lines = ",\n".join(f"    {json.dumps(worker, ensure_ascii=False)}" for worker in workers)
    listed = f"[\n{lines}\n  ]" if lines else "[]"
    return f'{{\n  "version": 1,\n  "workers": {listed}\n}}\n'


def _comment(router: RouterConfig) -> tuple[str, ...]:
    holder = f"${router.api_key}" if router.api_key else router.api_key_file
    reach = f"with the key that {holder} holds" if holder else "without a key"
    endpoint = f"The one endpoint, reached {reach}. It reads {FOLDER}/workers.json, again whenever that changes."
    shown = "Without the key it serves no request; it shows the names (/v1/models) and counters (/engine_metrics)."
    return (endpoint, shown) if holder else (endpoint,)


def _mounts(router: RouterConfig) -> tuple[Mount, ...]:
    """A key in a file is mounted, as Compose's own file secrets are: `docker inspect` shows its path alone."""
    key = (Mount("bind", router.api_key_file, KEY_FILE, read_only=True),) if router.api_key_file else ()
    folder = Mount("bind", f"./{FOLDER}", "/etc/smg", read_only=True)
    return (folder, *key, Mount("tmpfs", "size=67108864", "/tmp"))
