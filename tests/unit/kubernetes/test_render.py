"""Printed files for Kubernetes: golden, valid by the API's schemas, built by kustomize, and what the manifest asked."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from kit.kubernetes.checker import check
from kit.kubernetes.render import FOLDER
from tests.support.cluster import VARIANTS, container, objects, of, rendered
from tests.support.paths import ROOT
from tests.support.typed import kit

Golden = Callable[[Path, str], None]
IN_EXAMPLES = ("cpu-demo", "trio-16gb", "rag", "lora-24gb", "ollama", "triton")
BIN = Path(sys.executable).parent
every_variant = pytest.mark.parametrize("variant", VARIANTS)


def written(variant: str, folder: Path) -> Path:
    made = rendered(variant)
    for name, text in (("kustomization.yaml", made.compose), *((file.path, file.text) for file in made.files)):
        (folder / name).write_text(text)
    return folder


@every_variant
def test_it_is_printed_as_it_was_read(variant: str, golden: Golden) -> None:
    if variant in IN_EXAMPLES:
        at = ROOT / "compose" / variant
        said = kit("render", "--target", "kubernetes", "-o", "-", at=at).good().out
        golden(at / FOLDER / "kustomization.yaml", said)
        for file in rendered(variant).files:
            golden(at / FOLDER / file.path, file.text)
        return
    at = ROOT / "tests" / "golden" / FOLDER / variant
    for name, text in (
        ("kustomization.yaml", rendered(variant).compose),
        *((f.path, f.text) for f in rendered(variant).files),
    ):
        golden(at / name, text)


@every_variant
def test_the_checker_finds_nothing(variant: str) -> None:
    assert [str(fault) for fault in check(objects(variant))] == []


def test_the_schemas_of_kubernetes_take_every_object() -> None:
    import kubernetes_validate

    for variant in VARIANTS:
        for one in objects(variant):
            kubernetes_validate.validate(one, "1.36", strict=True)


@every_variant
def test_kustomize_builds_it(variant: str, tmp_path: Path) -> None:
    command = [BIN / "kubectl", "kustomize", str(written(variant, tmp_path))]
    built = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert built.returncode == 0, built.stderr
    names = lambda found: sorted((one["kind"], one["metadata"]["name"]) for one in found)  # noqa: E731
    assert names(yaml.safe_load_all(built.stdout)) == names(objects(variant))


@every_variant
def test_lines_are_at_most_120_wide_but_for_programs_and_commands(variant: str) -> None:
    for file in rendered(variant).files:
        long = [line for line in file.text.splitlines() if len(line) > 120]
        assert file.path == "config.yaml" or not [line for line in long if "--mm-processor" not in line], long


def test_a_worker_waits_for_its_files_and_runs_without_root() -> None:
    deployment = of("Deployment", "chat", objects("trio-16gb"))
    pod = deployment["spec"]["template"]["spec"]
    assert deployment["spec"]["strategy"] == {"type": "Recreate"}
    assert pod["initContainers"][0]["args"] == ["download-qwen-qwen2-5-1-5b-instruct-3f7147cf"]
    env = {one["name"]: one["value"] for one in container(pod, "chat")["env"]}
    assert (env["HOME"], env["VLLM_CACHE_ROOT"]) == ("/tmp", "/compiled/chat/vllm")
    assert container(pod, "chat")["resources"]["claims"] == [{"name": "card"}]
    assert pod["resourceClaims"] == [{"name": "card", "resourceClaimName": "card"}]


def test_copies_are_one_pod_a_card_with_sidecars_in_the_plans_order() -> None:
    found = objects("trio-copies")
    made = of("StatefulSet", "card", found)
    pod = made["spec"]["template"]["spec"]
    assert made["spec"]["replicas"] == 2
    assert [one["name"] for one in pod["initContainers"]] == ["wait-for-files", "chat", "small"]
    assert [one.get("restartPolicy") for one in pod["initContainers"]] == [None, "Always", "Always"]
    assert pod["resourceClaims"] == [{"name": "card", "resourceClaimTemplateName": "card"}]
    listed = json.loads(of("ConfigMap", "smg", found)["data"]["workers.json"])["workers"]
    assert {one["url"] for one in listed} >= {"http://chat-0:8000", "http://chat-1:8000", "http://tiny-1:8000"}
    assert of("Service", "small-1", found)["spec"]["selector"] == {"statefulset.kubernetes.io/pod-name": "card-1"}
    assert of("Deployment", "router", found)["spec"]["replicas"] == 2


def test_an_autoscaler_owns_the_number_of_copies() -> None:
    found = objects("trio-copies-shared")
    assert "replicas" not in of("StatefulSet", "card", found)["spec"]
    assert of("PersistentVolumeClaim", "models", found)["spec"]["accessModes"] == ["ReadWriteMany"]
    assert of("PersistentVolumeClaim", "models", found)["spec"]["storageClassName"] == "nfs"
    assert len([one for one in found if one["kind"] == "Job"]) == 3


def test_without_claims_a_worker_takes_a_slot_and_the_file_says_when_that_is_right() -> None:
    found = objects("trio-device-plugin")
    pod = of("Deployment", "tiny", found)["spec"]["template"]["spec"]
    assert container(pod, "tiny")["resources"]["limits"] == {"nvidia.com/gpu": 1}
    assert "resourceClaims" not in pod and not [one for one in found if one["kind"].startswith("Resource")]
    assert (pod["nodeSelector"], pod["imagePullSecrets"]) == (
        {"nvidia.com/gpu.product": "NVIDIA-L4"},
        [{"name": "registry"}],
    )
    assert "slices are `packed`" in rendered("trio-device-plugin").compose
    router = of("Deployment", "router", found)["spec"]["template"]["spec"]["containers"][0]
    assert router["image"] == "registry.example.com/smg:1.13.0"
    key = {"name": "trio-keys", "key": "MONOGPU_API_KEY"}
    assert {"name": "MONOGPU_API_KEY", "valueFrom": {"secretKeyRef": key}} in router["env"]
    assert '--from-literal=MONOGPU_API_KEY="$MONOGPU_API_KEY"' in rendered("trio-device-plugin").compose


def test_a_key_in_a_file_is_a_secret_and_opens_the_router_to_the_cluster() -> None:
    found = objects("rag-copies")
    for name in ("haproxy", "router"):
        pod = of("Deployment", name, found)["spec"]["template"]["spec"]
        (volume,) = [one for one in pod["volumes"] if "secret" in one]
        assert volume["secret"]["secretName"] == "rag-keys"
    assert of("NetworkPolicy", "router", found)["spec"]["ingress"] == [{}]
    assert of("NetworkPolicy", "router", objects("rag"))["spec"]["ingress"] == [{"from": [{"podSelector": {}}]}]


def test_folders_are_uploaded_once_for_each_volume_and_read_by_sub_path() -> None:
    found = objects("cpu-demo")
    (job,) = [one for one in found if one["kind"] == "Job"]
    worker = container(of("Deployment", "chat", found)["spec"]["template"]["spec"], "chat")
    (mount,) = [one for one in worker["volumeMounts"] if one["mountPath"] == "/models/chat"]
    assert mount["readOnly"] and job["metadata"]["name"].startswith(f"upload-{mount['subPath'].partition('/')[2]}-")
    assert f"exec -i job/{job['metadata']['name']}" in rendered("cpu-demo").compose
    copies = [one for one in objects("lora-copies") if one["metadata"]["name"].startswith("upload-")]
    claims = [one["spec"]["template"]["spec"]["volumes"][0]["persistentVolumeClaim"]["claimName"] for one in copies]
    assert sorted(claims) == ["models-card-0"] * 3 + ["models-card-1"] * 3


def test_adapters_have_a_service_for_each_name_of_each_copy() -> None:
    found = objects("lora-copies")
    listed = json.loads(of("ConfigMap", "smg", found)["data"]["workers.json"])["workers"]
    assert {one["model_id"] for one in listed} == {"mistral", "support", "code", "summary"}
    assert len({one["url"] for one in listed}) == len(listed) == 8
    assert of("Service", "code-mistral-1", found)["spec"]["ports"] == [
        {"name": "http", "port": 8000, "targetPort": 8010}
    ]


def test_a_model_that_changes_leaves_the_routers_pods_as_they_are(tmp_path: Path) -> None:
    router = of("Deployment", "router", objects("trio-16gb"))
    assert (
        "workers.json" not in json.dumps(router["metadata"]) and "annotations" in router["spec"]["template"]["metadata"]
    )
    for variant in ("trio-copies", "trio-sequential"):
        other = of("Deployment", "router", objects(variant))
        same = [one["spec"]["template"]["metadata"] for one in (router, other)]
        assert same[0] == same[1]
        assert [c["args"] for c in router["spec"]["template"]["spec"]["containers"]] == [
            c["args"] for c in other["spec"]["template"]["spec"]["containers"]
        ]


REFUSED = {
    "mps": ('gpu: {device: "0", mps: true}', "gpu.mps: --target kubernetes prints no MPS daemon"),
    "volume": ("volumes: [cache:/c]", "models[0].volumes[0]: --target kubernetes has no volume called cache"),
    "writable": ("volumes: ['./a:/c']", "models[0].volumes[0]: --target kubernetes mounts no folder of a node"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_this_target_cannot_do_is_refused_at_its_line(name: str, tmp_path: Path) -> None:
    line, said = REFUSED[name]
    top, model = (line, "") if line.startswith("gpu") else ("gpu: {memory: 16GiB}", f"    {line}\n")
    text = f"{top}\nmodels:\n  - name: a\n    source: HuggingFaceTB/SmolLM2-360M-Instruct\n{model}"
    (tmp_path / "monogpu.yaml").write_text(text)
    facts = ROOT / "compose" / "trio-16gb" / "facts.json"
    (tmp_path / "facts.json").write_text(facts.read_text())
    done = kit("render", "--target", "kubernetes", "--gpu", "16GiB", at=tmp_path)
    assert done.code == 2 and re.search(rf"monogpu.yaml:\d+:\d+: {re.escape(said)}", done.err), done.err
    assert not (tmp_path / FOLDER).exists()


def test_ollama_has_no_packed_pod(tmp_path: Path) -> None:
    text = (ROOT / "compose" / "ollama" / "monogpu.yaml").read_text() + "\nkubernetes: {copies: 2}\n"
    (tmp_path / "monogpu.yaml").write_text(text)
    done = kit("render", "--target", "kubernetes", at=tmp_path)
    assert done.code == 2 and "models[0].engine: Ollama and its proxy listen at one port" in done.err


def test_a_file_that_was_edited_by_hand_is_kept(tmp_path: Path) -> None:
    for name in ("monogpu.yaml", "gpu.json", "facts.json"):
        (tmp_path / name).write_text((ROOT / "compose" / "trio-16gb" / name).read_text())
    command = ("render", "--target", "kubernetes")
    assert kit(*command, at=tmp_path).good().out.count("wrote") == 10
    assert "unchanged" in kit(*command, at=tmp_path).good().out
    assert "is what the manifest says" in kit(*command, "--check", at=tmp_path).good().out
    edited = tmp_path / FOLDER / "workers.yaml"
    edited.write_text(edited.read_text().replace("replicas: 1", "replicas: 2"))
    done = kit(*command, at=tmp_path)
    assert done.code == 1 and "edited by hand" in done.err and "replicas: 2" in edited.read_text()
    assert "--target kubernetes` writes it" in kit(*command, "--check", at=tmp_path).err
    kit(*command, "--force", at=tmp_path).good()
    assert "replicas: 2" not in edited.read_text()
