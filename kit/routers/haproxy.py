"""HAProxy in front of the router, where models rank, score or classify.

SMG does not route these requests: it sends /v1/rerank to any worker without its name, cannot read vLLM's answer to
/rerank, and does not know /score and /pooling. Clients for them (Cohere's, Jina's and whatever speaks like them: every
RAG framework) take one base address and put the model's name into the body, as they do for a chat. So the endpoint
stays one: HAProxy takes its port, reads "model" from the bodies of these few paths and sends them to that worker, and
passes everything else on to the router untouched. A port or a path for each model would need clients that know of it.
`up` drains a worker here, as in the router's list, before it stops (kit/compose/traffic_gates.py).

Without such a model there is no HAProxy. Its configuration is printed beside the compose file, and read again whenever
it changes (haproxy_launch.sh): a model comes or goes, and every other name is served on.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from kit.manifest.model import Manifest, Model
from kit.memory.bill import Plan
from kit.stack.labels import FILES, ROLE
from kit.stack.model import EDGE, WORKERS, Attachment, File, Health, Mount, Route, Service
from kit.stack.render import checksum, fill

DEFAULT_IMAGE = "haproxy:3.2-alpine"
NAME = "haproxy"
FOLDER = "haproxy"
USER = "65532:65532"
STATUS_PORT = 8404
HEALTH = Health(("wget", "-q", "-O", "/dev/null", f"http://127.0.0.1:{STATUS_PORT}/"), retries=3, start_period=30)
CONTROL_PORT = 8405  # where HAProxy takes commands, inside its container alone
DRAIN_SECONDS = 30
CONFIG = f"{FOLDER}/haproxy.cfg"
LAUNCH = Path(__file__).with_name("haproxy_launch.sh").read_text(encoding="utf-8")
MARK = "    description "  # the line of a configuration by which HAProxy says which one it has read
KEY, KEY_FILE = "MONOGPU_API_KEY", "/run/secrets/api-key"

PATHS = ("/rerank", "/v1/rerank", "/v2/rerank", "/score", "/v1/score", "/classify", "/v1/classify", "/pooling")
NOTE = (
    "{router} does not route /rerank, /score and /classify: {image} stands in front of it on the same port, and sends "
    "them to {names} by the model in their body"
)


def pools_in(model: Model) -> bool:
    """Whether HAProxy sends requests to a model: one that ranks or classifies, or that makes vectors, with which vLLM
    ranks too."""
    return model.engine == "vllm" and model.task != "generate"


def needed(manifest: Manifest) -> bool:
    """Whether a model has a task that no router here routes."""
    return any(model.task in ("rerank", "classify", "infer") for model in manifest.models)


def image(manifest: Manifest) -> str:
    """HAProxy's image."""
    return manifest.router.haproxy_image or DEFAULT_IMAGE


def note(manifest: Manifest) -> str:
    """What `plan` says of it; "" where no model ranks or classifies."""
    names = [model.name for model in manifest.models if model.task in ("rerank", "classify")]
    filled = NOTE.format(router=manifest.router.engine, image=image(manifest), names=" and ".join(names))
    return filled if names else ""


def before(
    plan: Plan, router: Service, routes: Iterable[Route], tensors: Iterable[Route] = (), resolvers: bool = True
) -> tuple[tuple[Service, ...], tuple[File, ...]]:
    """The router, no longer published, and HAProxy in its place; and HAProxy's configuration. `routes` are those of
    the models that `pools_in` says, `tensors` those of models that take and give tensors. With `resolvers` workers may
    get other addresses while it runs."""
    (port,) = router.ports
    mounts = tuple(mount for mount in router.mounts if mount.target == KEY_FILE)
    keys = tuple(entry for entry in router.environment if entry[0] == KEY)
    text = config(routes, router.name, port.target, bool(keys), bool(mounts), tensors, resolvers)
    published = Service(
        name=NAME,
        comment=(
            f"The one endpoint. What ranks, scores or classifies goes to its worker by the model in the body, "
            f"everything else to {router.name}.",
        ),
        image=image(plan.manifest),
        entrypoint=("sh", f"/etc/{FOLDER}/launch.sh"),
        command=(f"/etc/{CONFIG}", str(DRAIN_SECONDS)),
        environment=keys,
        mounts=(Mount("bind", f"./{FOLDER}", f"/etc/{FOLDER}", read_only=True), *mounts),
        networks=(Attachment(EDGE), Attachment(WORKERS)),
        ports=router.ports,
        health=HEALTH,
        depends_on=((router.name, "service_healthy"),),
        restart="unless-stopped",
        stop_grace=DRAIN_SECONDS + 15,
        user=USER,
        read_only=True,
        labels=((ROLE, "router"), (FILES, checksum(LAUNCH))),
    )
    behind = f"Behind {NAME}, which is published in its place."
    inside = tuple(at for at in router.networks if at.network != EDGE)
    hidden = replace(router, comment=(behind, *router.comment), ports=(), networks=inside)
    return (hidden, published), (File(CONFIG, text), File(f"{FOLDER}/launch.sh", LAUNCH))


def pools(routes: Iterable[Route]) -> dict[str, list[tuple[str, int]]]:
    """Name -> (host, port) of the workers that serve it: replicas serve the same."""
    found: dict[str, list[tuple[str, int]]] = {}
    for route in routes:
        found.setdefault(route.model_id, []).append((route.host, route.port))
    return found


def config(
    routes: Iterable[Route],
    router: str,
    port: int,
    by_variable: bool,
    by_file: bool,
    tensors: Iterable[Route] = (),
    resolvers: bool = True,
) -> str:
    """HAProxy's configuration. It listens where the router did, and asks the router at its own port."""
    key = f'"${{{KEY}}}"' if by_variable else f"-f {KEY_FILE}" if by_file else ""
    values: dict[str, object] = {
        "pools": pools(routes),
        "tensors": pools(tensors),
        "paths": PATHS,
        "key": key,
        "port": port,
        "status": STATUS_PORT,
        "control": CONTROL_PORT,
        "resolvers": resolvers,
        "router": {"host": router, "port": port},
    }
    unmarked = fill("haproxy.cfg.j2", **values, mark="")
    return fill("haproxy.cfg.j2", **values, mark=checksum(unmarked))


def mark_of(text: str) -> str:
    """What HAProxy calls the configuration that it has read; "" for one without a mark."""
    return next((line.removeprefix(MARK) for line in text.splitlines() if line.startswith(MARK)), "")
