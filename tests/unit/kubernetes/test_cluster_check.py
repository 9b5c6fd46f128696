"""`scripts/cluster-check` against the fake API server: the whole walk, each refusal of a server, and what is said of
each way in which a stack does not become ready. Nothing is left behind."""

from __future__ import annotations

import io
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from kit.kubernetes.cluster_check import main
from tests.fakes.kube import FakeCluster, fake_cluster
from tests.support.paths import ROOT

STEPS = (
    "printed", "cluster", "applied", "uploaded", "ready", "every name answers", "applied again: unchanged",
    "another manager stops it", "a worker crashes under load", "a model is edited under load", "a second copy",
    "removed",
)  # fmt: skip


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with fake_cluster() as made:
        yield made
        assert made.broken == []


@pytest.fixture
def demo(tmp_path: Path) -> Path:
    """The CPU demo with a folder that is small."""
    at = ROOT / "compose" / "cpu-demo"
    for name in ("monogpu.yaml", "facts.json"):
        shutil.copy(at / name, tmp_path)
    model = tmp_path / "models" / "SmolLM2-135M-Instruct"
    model.mkdir(parents=True)
    (model / "config.json").write_text("{}")
    (model / "model.safetensors").write_bytes(bytes(200_000))
    return tmp_path


class Said:
    """What a run printed: its rows by step, and its exit code."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    def row(self, step: str) -> str:
        found = [line for line in self.out.splitlines() if f"  {step}  " in f"{line}  "]
        assert found, self.out + self.err
        return found[0]


def walk(
    cluster: FakeCluster, demo: Path, *more: str, timeout: str = "20", settle: float = 20.0, gone: float = 10.0
) -> Said:
    out, err = io.StringIO(), io.StringIO()
    config = str(cluster.kubeconfig(demo))
    arguments = [config, "--manifest", str(demo / "monogpu.yaml"), "--timeout", timeout, *more]
    code = main(arguments, out, err, settle=settle, gone=gone)
    return Said(code, out.getvalue(), err.getvalue())


def left(cluster: FakeCluster) -> list[object]:
    return [key for key in cluster.store.objects if key[1] == "monogpu-check" or key[2] == "monogpu-check"]


def test_the_whole_walk_passes_and_leaves_nothing(cluster: FakeCluster, demo: Path) -> None:
    said = walk(cluster, demo, "--image", "vllm-cpu=registry.example.com/vllm-cpu@sha256:" + "a" * 64)
    assert said.code == 0, said.out + said.err
    assert [step for step in STEPS if not said.row(step).startswith("ok")] == []
    assert f"{len(STEPS)} of {len(STEPS)} steps passed" in said.out
    assert left(cluster) == []
    (names,) = {tuple(names) for names in cluster.router.received.values()}
    assert "./model.safetensors" in names
    assert "removed Deployment/chat, Deployment/embed" in said.row("a second copy")
    assert 'conflict with "someone-else"' in said.row("another manager stops it")
    assert "chat: 0 of " in said.row("a worker crashes under load")
    assert "embed" in said.row("a worker crashes under load")


def test_a_busy_server_a_cut_watch_and_one_that_goes_away_are_waited_for(cluster: FakeCluster, demo: Path) -> None:
    cluster.busy, cluster.dropped, cluster.cut_watches = 25, 3, True
    cluster.unknown = {"resourceclaims", "resourceclaimtemplates"}
    assert walk(cluster, demo).code == 0
    assert cluster.busy == 0 and cluster.dropped <= 0


def test_a_server_that_does_not_answer_is_said_in_the_end(cluster: FakeCluster, demo: Path) -> None:
    cluster.away = True
    said = walk(cluster, demo, gone=1.0)
    assert said.code == 4 and "does not answer" in said.row("cluster")
    assert "removed" not in said.out


def test_what_is_forbidden_is_named(cluster: FakeCluster, demo: Path) -> None:
    cluster.forbidden = {("PATCH", "networkpolicies")}
    said = walk(cluster, demo)
    assert said.code == 4
    assert "NetworkPolicy/default-deny: networkpolicies is forbidden" in said.row("applied")
    assert "ask for this permission" in said.row("applied")
    assert said.row("removed").startswith("ok") and left(cluster) == []


def test_credentials_that_are_not_accepted_are_said(cluster: FakeCluster, demo: Path) -> None:
    config = cluster.kubeconfig(demo)
    config.write_text(config.read_text().replace("a-token", "another"))
    out, err = io.StringIO(), io.StringIO()
    assert main([str(config), "--manifest", str(demo / "monogpu.yaml")], out, err) == 4
    assert "log in again" in out.getvalue()


def test_a_namespace_of_others_is_left_alone(cluster: FakeCluster, demo: Path) -> None:
    mine = {"kind": "Namespace", "metadata": {"name": "monogpu-check", "labels": {"team": "a"}}}
    cluster.store.put(("namespaces", "", "monogpu-check"), mine)
    said = walk(cluster, demo)
    assert said.code == 4 and "was not made by this check" in said.row("cluster")
    assert ("namespaces", "", "monogpu-check") in cluster.store.objects


TROUBLES = {
    "scheduler": ("0/1 nodes are available: 1 Insufficient memory.", "uploaded", "no node has enough memory left"),
    "upload": ("ImagePullBackOff", "uploaded", "its image is not on the node, and cannot be pulled"),
    "embed": ("CrashLoopBackOff", "ready", "embed ended"),
    "router": ("CreateContainerConfigError", "ready", "router does not start"),
}


@pytest.mark.parametrize("container", TROUBLES)
def test_a_stack_that_does_not_become_ready_says_why(container: str, cluster: FakeCluster, demo: Path) -> None:
    reason, step, said_of_it = TROUBLES[container]
    cluster.kubelet.trouble[container] = reason
    cluster.kubelet.trouble["log of embed"] = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB"
    said = walk(cluster, demo, timeout="2")
    assert said.code == 4 and said_of_it in said.row(step), said.out
    assert said.row("removed").startswith("ok") and left(cluster) == []
    if container == "embed":
        assert "Tried to allocate" in said.err


def test_a_name_that_does_not_answer_fails_the_walk(cluster: FakeCluster, demo: Path) -> None:
    cluster.router.mute.add("embed")
    said = walk(cluster, demo, settle=1.0)
    assert said.code == 4 and said.row("every name answers").startswith("FAILED") and left(cluster) == []


def test_a_folder_that_is_not_there_is_said_and_what_makes_it(cluster: FakeCluster, demo: Path) -> None:
    shutil.rmtree(demo / "models")
    said = walk(cluster, demo)
    assert said.code == 4 and "scripts/build-images model" in said.row("uploaded")


def test_what_is_kept_is_kept(cluster: FakeCluster, demo: Path) -> None:
    cluster.kubelet.trouble["embed"] = "CrashLoopBackOff"
    said = walk(cluster, demo, "--keep", timeout="2")
    assert said.code == 4 and "removed" not in said.out and left(cluster)


@pytest.mark.parametrize("image", ["vllm-cpu", "nothing=x", "vllm-cpu="])
def test_an_image_that_the_demo_lacks_is_refused(image: str, cluster: FakeCluster, demo: Path) -> None:
    said = walk(cluster, demo, "--image", image)
    assert said.code == 4 and "needed: NAME=REF with a NAME of monogpu/vllm-cpu:0.32.0, monogpu/smg:1.13.0" in said.err


def test_a_kubeconfig_that_is_none_is_said(demo: Path) -> None:
    err = io.StringIO()
    assert main([str(demo / "none"), "--manifest", str(demo / "monogpu.yaml")], io.StringIO(), err) == 4
    assert "cannot be used" in err.getvalue() and "Traceback" not in err.getvalue()


def test_the_script_says_how_it_is_used() -> None:
    text = (ROOT / "scripts" / "cluster-check").read_text()
    assert "KUBECONFIG [--image NAME=REF]" in text
