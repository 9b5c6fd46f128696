"""A fake API server with the controllers and the kubelet that a stack needs: it stores objects, applies them as
server-side apply does, watches, makes pods and lets them become ready, runs what `exec` asks for, and forwards ports to
a pretend router. It can be busy, forbid, go away, and forget its watches."""

from tests.fakes.kube.server import FakeCluster, fake_cluster

__all__ = ["FakeCluster", "fake_cluster"]
