"""What is refused, and what is accepted, of public reports that the kit once planned wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from kit.errors import ManifestError, ModelFilesError
from tests.support.found import facts_of, folder, plan_of
from tests.support.typed import kit


def test_yarn_stretches_the_original_length_until_0_30() -> None:
    assert plan_of("F12", "24GiB").shares[0].context == 65_536
    with pytest.raises(ManifestError, match="at most 32768 tokens"):
        plan_of("F12", "24GiB", image="vllm/vllm-openai:v0.30.0")


@pytest.mark.parametrize("env", [{"VLLM_ALLOW_LONG_MAX_MODEL_LEN": "1"}, {}])
def test_a_longer_context_may_be_asked_for(env: dict[str, str]) -> None:
    assert plan_of("F12b", "48GiB", facts_of("F12b"), env=env).shares[0].context == 65_536


def test_overrides_that_change_the_model_are_refused() -> None:
    with pytest.raises(ManifestError, match="changes num_hidden_layers"):
        plan_of("F08", "48GiB", facts_of("F08"), image="x:1", args=("--hf-overrides", '{"num_hidden_layers": 2}'))


@pytest.mark.parametrize(("case", "said"), [("F15", "does not name"), ("F15b", "with exl3"), ("F16", "0.8 is not")])
def test_check_refuses_what_the_engine_does_not_serve(case: str, said: str, tmp_path: Path) -> None:
    for command in ("check", "plan"):
        told = kit(command, *(("--gpu", "24GiB") if command == "plan" else ()), at=folder(case, tmp_path / command))
        assert (told.code != 0, said in told.err) == (True, True)


@pytest.mark.parametrize("tag", ["latest", "nightly", "v0.26.0@sha256:" + "0" * 64])
def test_an_image_without_a_version_is_said_to_be_assumed(tag: str) -> None:
    made = plan_of("F08", "48GiB", facts_of("F08"), image=f"vllm/vllm-openai:{tag}")
    assert any("planned as 0.26" in note for note in made.notes) is ("v0.26" not in tag)


def test_a_family_that_nobody_can_size_is_named() -> None:
    with pytest.raises(ModelFilesError, match="Gemma3nForConditionalGeneration: the kit cannot size it yet"):
        facts_of("F14")
    assert facts_of("F14b").layers == 28


def test_an_encoder_writes_no_text() -> None:
    with pytest.raises(ManifestError, match="is an encoder"):
        plan_of("F08", "48GiB", facts_of("F08", model_type="bert"), args=(), image="vllm/vllm-openai:v0.26.0")


def test_links_out_of_a_folder_are_refused_and_a_snapshot_is_mounted_whole(tmp_path: Path) -> None:
    made = folder("F08b", tmp_path)
    (made / "m").rename(made / "blobs")
    snapshot = made / "models--acme--tiny" / "snapshots" / "abc"
    for place in (made / "m", snapshot):
        place.mkdir(parents=True)
        for file in (made / "blobs").iterdir():
            (place / file.name).symlink_to(file)
    assert "link out of the folder" in kit("plan", "--gpu", "24GiB", at=made).err
    text = (made / "monogpu.yaml").read_text()
    (made / "monogpu.yaml").write_text(text.replace("./m", f"./{snapshot.relative_to(made)}"))
    kit("render", "--gpu", "24GiB", at=made).good()
    printed = (made / "docker-compose.yaml").read_text()
    assert "/models/a/snapshots/abc" in printed
    assert "source: ./models--acme--tiny, target: /models/a," in printed
