"""A cluster by its API, as a kubeconfig names it: plain requests by httpx, credentials and streams by the official
client. What passes by itself is tried again: 429 and 5xx for as long as the server says, a server that went away for a
minute."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kit.compose.wait import CLOCK, Clock
from kit.errors import Problem, TargetError
from kit.kubernetes import streams
from kit.kubernetes.cluster import FIELD_MANAGER, ClusterGone, ExecResult, Json, path_of, refusal

if TYPE_CHECKING:
    import httpx
    from kubernetes.client import ApiClient

GONE_SECONDS = 60.0  # that a server may be away
MOST_PAUSE = 10.0  # seconds, whatever Retry-After says
_PASSES = (429, 500, 502, 503, 504)
_EXTRA = "pip install 'monogpu-kit[kubernetes]' brings the client"


class ApiCluster:
    """A cluster behind an API server."""

    def __init__(self, client: ApiClient, http: httpx.Client, clock: Clock = CLOCK, gone: float = GONE_SECONDS) -> None:
        self.client = client
        self.http = http
        self.clock = clock
        self.gone = gone

    def version(self) -> str:
        return str(self._json("GET", "/version", "the version")["gitVersion"])

    def apply(self, one: Json, manager: str = FIELD_MANAGER) -> Json:
        kind, meta = one["kind"], one["metadata"]
        path = path_of(kind, meta.get("namespace", ""), meta["name"])
        return self._json(
            "PATCH",
            path,
            f"{kind}/{meta['name']}",
            params={"fieldManager": manager, "force": "false"},
            content=json.dumps(one),
            headers={"Content-Type": "application/apply-patch+yaml"},
        )

    def get(self, kind: str, namespace: str, name: str) -> Json | None:
        reply = self._send("GET", path_of(kind, namespace, name))
        return None if reply.status_code == 404 else _checked(reply, f"{kind}/{name}")

    def list(self, kind: str, namespace: str, labels: Mapping[str, str] | None = None) -> Sequence[Json]:
        return self._listing(kind, namespace, labels).get("items") or ()

    def _listing(self, kind: str, namespace: str, labels: Mapping[str, str] | None) -> Json:
        selector = ",".join(f"{key}={value}" for key, value in (labels or {}).items())
        params = {"labelSelector": selector} if selector else {}
        reply = self._send("GET", path_of(kind, namespace), params=params)
        return {} if reply.status_code == 404 else _checked(reply, f"the list of {kind}")

    def await_change(self, kind: str, namespace: str, seconds: float) -> None:
        """A watch that is cut, too old or refused says nothing: the caller lists again anyway."""
        import httpx

        version = (self._listing(kind, namespace, None).get("metadata") or {}).get("resourceVersion", "")
        params = {"watch": "1", "resourceVersion": version, "timeoutSeconds": str(max(int(seconds), 1))}
        timeout = httpx.Timeout(10.0, read=seconds + 5)
        until = self.clock.now() + seconds
        with contextlib.suppress(httpx.HTTPError):
            with self.http.stream("GET", path_of(kind, namespace), params=params, timeout=timeout) as reply:
                for line in reply.iter_lines():
                    if reply.status_code == 200 and line.strip():
                        return
            if reply.status_code == 200:
                return
        self.clock.sleep(min(1.0, max(until - self.clock.now(), 0.0)))

    def delete(self, kind: str, namespace: str, name: str) -> None:
        options = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Foreground"}
        reply = self._send(
            "DELETE",
            path_of(kind, namespace, name),
            content=json.dumps(options),
            headers={"Content-Type": "application/json"},
        )
        if reply.status_code != 404:
            _checked(reply, f"{kind}/{name}")

    def logs(self, namespace: str, pod: str, container: str, previous: bool = False) -> str:
        params = {"container": container, "tailLines": "200", **({"previous": "true"} if previous else {})}
        reply = self._send("GET", f"{path_of('Pod', namespace, pod)}/log", params=params)
        return reply.text if reply.status_code == 200 else ""

    def exec(
        self, namespace: str, pod: str, container: str, command: Sequence[str], stdin: Path | None = None
    ) -> ExecResult:
        return streams.run(self.client, namespace, pod, container, command, stdin)

    def forward(self, namespace: str, pod: str, port: int) -> AbstractContextManager[str]:
        return streams.forwarded(self.client, namespace, pod, port)

    def _json(self, method: str, path: str, what: str, **more: Any) -> Json:
        return _checked(self._send(method, path, **more), what)

    def _send(self, method: str, path: str, **more: Any) -> httpx.Response:
        """An answer that stands: neither busy, nor a connection that failed. Raises ClusterGone."""
        import httpx

        until = self.clock.now() + self.gone
        while True:
            pause = 1.0
            try:
                reply = self.http.request(method, path, **more)
                if reply.status_code not in _PASSES or self.clock.now() >= until:
                    return reply
                said = reply.headers.get("Retry-After", "")
                pause = min(float(said), MOST_PAUSE) if said.isdecimal() else pause
            except httpx.HTTPError as error:
                if self.clock.now() >= until:
                    what = f"{self.http.base_url} does not answer: {error or type(error).__name__}"
                    raise ClusterGone(Problem(what, "is the API server running, and reached from here?")) from None
            self.clock.sleep(max(pause, 0.1))


def _checked(reply: httpx.Response, what: str) -> Json:
    try:
        body = reply.json()
    except ValueError:
        body = {"message": f"HTTP {reply.status_code}: {reply.text[:200]}"}
    if reply.status_code >= 400 or not isinstance(body, dict):
        raise refusal(reply.status_code, body if isinstance(body, dict) else {}, what)
    return body


@contextlib.contextmanager
def connected(kubeconfig: Path, context: str | None = None, gone: float = GONE_SECONDS) -> Iterator[ApiCluster]:
    """The cluster of a kubeconfig, whose server may be away for `gone` seconds. Raises TargetError when the file cannot
    be read, or the client is not installed."""
    import httpx

    try:
        from kubernetes import config
        from kubernetes.config import ConfigException
    except ImportError:
        raise TargetError(Problem("the Kubernetes client is not installed", _EXTRA)) from None
    try:
        client: ApiClient = config.new_client_from_config(  # type: ignore[no-untyped-call]
            config_file=str(kubeconfig), context=context
        )
    except (ConfigException, OSError, ValueError, TypeError) as error:
        raise TargetError(Problem(f"{kubeconfig} cannot be used: {error}", "needed: a kubeconfig file")) from None
    settings = client.configuration
    verify: Any = streams.tls_context(settings)
    headers = {one["key"]: one["value"] for one in settings.auth_settings().values() if one.get("in") == "header"}
    with httpx.Client(base_url=settings.host, verify=verify, headers=headers, timeout=30.0, trust_env=False) as http:
        yield ApiCluster(client, http, gone=gone)
