"""Facts by the Hub's own client from a hub on 127.0.0.1: only headers travel, and refusals are in our words."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from huggingface_hub import HfApi

from kit.errors import Mark, ModelFilesError
from kit.facts.facts import from_config
from kit.facts.hub import Hub, UnreachableError, gather, gather_adapters, load, load_adapter
from tests.fakes.hubserver import GOOD_TOKEN, STRANGER_TOKEN, HubServer
from tests.support.modelfiles import TINY, lora_shapes, safetensors, tiny_files, tiny_shapes

ADAPTER = b'{"peft_type": "LORA", "r": 8, "base_model_name_or_path": "org/tiny", "target_modules": ["q_proj"]}'


@pytest.fixture
def server() -> Iterator[HubServer]:
    with HubServer() as running:
        running.add("org/tiny", tiny_files())
        yield running


def client(server: HubServer, cache: Path, token: str | bool = False) -> Hub:
    return Hub(HfApi(endpoint=server.url, token=token), cache)


def refusal(text: str, hub: Hub, cache: Path) -> ModelFilesError:
    with pytest.raises(ModelFilesError) as caught:
        load(text, cache, hub)
    assert str(caught.value).startswith(f"{text}: ")
    return caught.value


def test_a_repository_gives_the_facts_of_its_headers_and_its_commit(server: HubServer, tmp_path: Path) -> None:
    facts = load("org/tiny", tmp_path, client(server, tmp_path))
    assert facts.revision == server.repos["org/tiny"].commits["main"]
    assert facts == from_config("org/tiny", facts.revision, TINY, tiny_shapes(), True, tool_template=False)


def test_a_revision_is_followed_to_its_commit(server: HubServer, tmp_path: Path) -> None:
    repo = server.repos["org/tiny"]
    repo.commits["v1"] = repo.commits["main"]
    assert load("org/tiny@v1", tmp_path, client(server, tmp_path)).revision == repo.commits["main"]


def test_weights_are_not_downloaded(server: HubServer, tmp_path: Path) -> None:
    """A header above the client's first 100 kB takes a second ranged read; the 40 MB behind it never travel."""
    shapes = {f"model.layers.{n}.{'w' * 100}": ("BF16", (1, 1)) for n in range(2000)} | {"x": ("BF16", (20, 2**20))}
    server.add("org/long", tiny_files() | {"model.safetensors": safetensors(shapes)})
    facts = load("org/long", tmp_path, client(server, tmp_path))
    assert facts.checkpoint_bytes == 2 * (2000 + 20 * 2**20)
    assert server.served["model.safetensors"] < 1_000_000


def test_shards_count_once_and_consolidated_weights_are_not_asked_for(server: HubServer, tmp_path: Path) -> None:
    shapes = list(tiny_shapes().items())
    shards = {
        "model-00001-of-00002.safetensors": safetensors(dict(shapes[:7])),
        "model-00002-of-00002.safetensors": safetensors(dict(shapes[7:])),
        "consolidated.safetensors": safetensors(tiny_shapes()),
    }
    config = {"config.json": tiny_files()["config.json"]}
    server.add("org/shards", config | shards)
    whole = from_config("org/shards", server.repos["org/shards"].commits["main"], TINY, tiny_shapes())
    assert load("org/shards", tmp_path, client(server, tmp_path)) == whole
    assert "consolidated.safetensors" not in server.served


def test_a_repository_with_other_weights_is_counted_where_its_family_is_known(
    server: HubServer, tmp_path: Path
) -> None:
    server.add("org/bin", {"config.json": tiny_files()["config.json"], "pytorch_model.bin": b"x"})
    assert not load("org/bin", tmp_path, client(server, tmp_path)).from_headers
    odd = tiny_files(architectures=["OddForCausalLM"])["config.json"]
    server.add("org/odd", {"config.json": odd, "pytorch_model.bin": b"x"})
    said = str(refusal("org/odd", client(server, tmp_path), tmp_path))
    assert "the weights' headers are needed" in said
    assert "there are only .bin files" in said


def test_a_repository_of_gguf_files_is_named_as_such(server: HubServer, tmp_path: Path) -> None:
    server.add("org/gguf", {"model-Q4_K_M.gguf": b"x"})
    assert "only GGUF files there" in str(refusal("org/gguf", client(server, tmp_path), tmp_path))


def test_a_gated_repository_says_where_to_accept_its_terms(server: HubServer, tmp_path: Path) -> None:
    server.add("org/gated", tiny_files(), gated=True)
    for token in (False, STRANGER_TOKEN):
        said = str(refusal("org/gated", client(server, tmp_path, token), tmp_path))
        assert "the repository is gated" in said
        assert f"accept its terms at {server.url}/org/gated, then set HF_TOKEN" in said
    assert load("org/gated", tmp_path, client(server, tmp_path, GOOD_TOKEN)).from_headers


def test_an_unknown_repository_is_answered_with_the_nearest_name(server: HubServer, tmp_path: Path) -> None:
    for token in (False, GOOD_TOKEN):
        said = str(refusal("ogr/tiny", client(server, tmp_path, token), tmp_path))
        assert "no such repository on the Hub" in said
        assert "did you mean org/tiny?" in said


def test_an_unknown_revision_is_named(server: HubServer, tmp_path: Path) -> None:
    said = str(refusal("org/tiny@v9", client(server, tmp_path), tmp_path))
    assert "the repository has no revision 'v9'" in said


def test_a_token_the_hub_does_not_take_is_named(server: HubServer, tmp_path: Path) -> None:
    assert "the Hub refuses the token; set HF_TOKEN" in str(
        refusal("org/tiny", client(server, tmp_path, "hf_old"), tmp_path)
    )


def test_a_corrupt_header_on_the_hub_is_named(server: HubServer, tmp_path: Path) -> None:
    server.add("org/broken", tiny_files() | {"model.safetensors": (9).to_bytes(8, "little") + b"not json!"})
    said = str(refusal("org/broken", client(server, tmp_path), tmp_path))
    assert "a weight file's header cannot be read" in said


def test_a_missing_shard_on_the_hub_is_named(server: HubServer, tmp_path: Path) -> None:
    server.add("org/half", {"config.json": b"{}", "model-00001-of-00002.safetensors": b""})
    assert "model-00002-of-00002.safetensors missing" in str(refusal("org/half", client(server, tmp_path), tmp_path))


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (500, "the Hub answered with status 500; try again later"),
        (429, "too many requests, says the Hub; try again later"),
        (302, "is not the Hub; check proxy and HF_ENDPOINT"),
    ],
)
def test_a_hub_that_answers_strangely_says_how_and_what_to_do(
    server: HubServer, tmp_path: Path, status: int, said: str
) -> None:
    server.status = status
    error = refusal("org/tiny", client(server, tmp_path), tmp_path)
    assert isinstance(error, UnreachableError)
    assert said in str(error)
    assert error.evidence


def test_without_network_the_ways_around_it_are_named(tmp_path: Path) -> None:
    with HubServer() as gone:
        hub = client(gone, tmp_path)
    error = refusal("org/tiny", hub, tmp_path)
    assert "the Hub does not answer; without network, give a folder with the model, or a facts.json" in str(error)
    assert error.exit_code == 6


def test_without_network_an_earlier_download_is_enough(server: HubServer, tmp_path: Path) -> None:
    hub = client(server, tmp_path)
    hub.api.snapshot_download("org/tiny", cache_dir=tmp_path)
    online = load("org/tiny", tmp_path, hub)
    server.status = 503
    assert load("org/tiny", tmp_path, hub) == online


def test_an_adapter_is_read_with_the_header_of_its_weights_alone(server: HubServer, tmp_path: Path) -> None:
    weights = safetensors({**lora_shapes(), "base_model.model.long.lora_A.weight": ("F32", (8, 40_000))})
    server.add("org/code", {"adapter_config.json": ADAPTER, "adapter_model.safetensors": weights})
    facts = load_adapter("org/code", tmp_path, client(server, tmp_path))
    assert (facts.rank, facts.base, facts.revision) == (8, "org/tiny", server.repos["org/code"].commits["main"])
    assert [(tensor.shape, tensor.count) for tensor in facts.tensors[:2]] == [((8, 64), 2), ((64, 8), 2)]
    assert server.served["adapter_model.safetensors"] < len(weights) / 10
    with pytest.raises(ModelFilesError, match=r"no adapter_config\.json there"):
        load_adapter("org/tiny", tmp_path, client(server, tmp_path))


def test_an_adapter_without_its_matrices_is_refused_and_one_in_another_format_is_taken(tmp_path: Path) -> None:
    (tmp_path / "adapter_config.json").write_bytes(ADAPTER)
    with pytest.raises(ModelFilesError, match=r"no adapter_model\.safetensors there"):
        load_adapter("./", tmp_path)
    (tmp_path / "adapter_model.bin").write_bytes(b"pickled")
    assert load_adapter("./", tmp_path).tensors == ()


def folder(tmp_path: Path) -> Path:
    place = tmp_path / "models" / "tiny"
    place.mkdir(parents=True)
    for name, body in tiny_files().items():
        (place / name).write_bytes(body)
    return tmp_path


def test_a_folder_is_found_beside_the_manifest_and_needs_no_client(tmp_path: Path) -> None:
    facts = load("./models/tiny", folder(tmp_path))
    assert facts == from_config("./models/tiny", None, TINY, tiny_shapes(), True, tool_template=False)


def test_recorded_facts_come_first(tmp_path: Path) -> None:
    recorded = {"org/elsewhere": from_config("org/elsewhere", None, TINY)}
    found = gather(["org/elsewhere", "./models/tiny", "org/elsewhere"], folder(tmp_path), recorded)
    assert list(found) == ["org/elsewhere", "./models/tiny"]
    assert found["org/elsewhere"] is recorded["org/elsewhere"]
    assert found["./models/tiny"].from_headers


def test_the_problems_of_all_sources_come_at_once_at_their_places(tmp_path: Path) -> None:
    mark = Mark("monogpu.yaml", 3, 13, "  - source: ./none")
    with pytest.raises(ModelFilesError) as caught:
        gather(["./none", "no-owner"], tmp_path, {}, places={"./none": (("models", 0, "source"), mark)})
    first, second = caught.value.problems
    assert str(first).startswith("monogpu.yaml:3:13: models[0].source: ./none: the folder")
    assert "'no-owner' is not a source" in str(second)


def test_adapters_are_gathered_the_same_way(tmp_path: Path) -> None:
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "adapter_config.json").write_bytes(ADAPTER)
    (tmp_path / "code" / "adapter_model.safetensors").write_bytes(safetensors(lora_shapes()))
    assert gather_adapters(["./code"], tmp_path, {})["./code"].rank == 8
    with pytest.raises(ModelFilesError, match="does not exist"):
        gather_adapters(["./none"], tmp_path, {})
