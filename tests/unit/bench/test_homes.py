from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.assemble import assemble
from kit.bench.stacks import with_absolute_paths
from kit.compose.spec import MountSpec, ProjectSpec
from kit.memory.bill import Plan
from kit.project.load import planned, read_project
from kit.stack.render import Rendered, render
from tests.support.composefiles import printed
from tests.support.strategies import model, plan, plans, share
from tests.support.typed import EXAMPLES

ELSEWHERE = Path("/var/bench/stack")
VARIABLES = {"THE_KEY": "secret", "HF_TOKEN": "hf", "MONOGPU_API_KEY": "key"}
HOMES = st.sampled_from([Path("/srv/stack"), Path("/home/a b/$stack"), Path("/srv/ü#1")])


def spec(of: Rendered, folder: Path) -> ProjectSpec:
    return printed(of.compose, folder / "docker-compose.yaml", VARIABLES)


def mounts(of: Rendered, folder: Path) -> dict[str, list[list[object]]]:
    """Each service's mounts. The kit's own files lie in the folder, whichever that is."""
    files = {str(folder / file.path).removeprefix(str(folder)) for file in of.files}
    own = files | {str(Path(file).parent) for file in files}
    return {service.name: [_mount(m, folder, own) for m in service.mounts] for service in spec(of, folder).services}


def _mount(mount: MountSpec, folder: Path, own: set[str]) -> list[object]:
    kind, source, *rest = mount.identity
    inside = str(source).removeprefix(str(folder))
    return [kind, f"printed:{inside}" if inside in own and str(source).startswith(str(folder)) else source, *rest]


def same_mounts(made: Plan, home: Path) -> None:
    here, there = render(assemble(made)), render(assemble(with_absolute_paths(made, home)))
    assert mounts(here, home) == mounts(there, ELSEWHERE)
    assert {file.path: file.text for file in here.files} == {file.path: file.text for file in there.files}


@given(plans(), HOMES)
def test_printed_into_another_folder_the_file_mounts_the_same(made: Plan, home: Path) -> None:
    same_mounts(made, home)


@pytest.mark.parametrize("example", EXAMPLES, ids=[example.name for example in EXAMPLES])
def test_every_example_mounts_the_same_from_another_folder(example: Path) -> None:
    home = example.resolve()
    same_mounts(planned(read_project(example / "monogpu.yaml"), None), home)


@given(plans(), HOMES)
def test_nothing_but_paths_changes(made: Plan, home: Path) -> None:
    moved = with_absolute_paths(made, home)
    for one, other in zip(made.shares, moved.shares, strict=True):
        kept = {"source": one.model.source, "adapters": one.model.adapters, "volumes": one.model.volumes}
        assert replace(other, model=one.model) == one and other.model.model_copy(update=kept) == one.model
        assert other.model in moved.manifest.models
    assert with_absolute_paths(moved, Path("/elsewhere")) == moved


@given(plans(), HOMES)
def test_every_path_is_absolute(made: Plan, home: Path) -> None:
    for one in with_absolute_paths(made, home).manifest.models:
        hosts = [volume.partition(":")[0] for volume in one.volumes]
        for text in (one.source, *(adapter.source for adapter in one.adapters), *hosts):
            assert not text.startswith(".")


def test_each_kind_of_path_is_written_out_and_names_stay() -> None:
    adapters = ({"name": "code", "source": "./adapters/code"}, {"name": "sql", "source": "org/sql@abc"})
    volumes = ("./data:/data:ro", "../shared:/shared", "named:/named", "/abs:/abs", "~/mine:/mine")
    chat = model("chat", "./models/chat").model_validate(
        {"name": "chat", "source": "./models/chat", "adapters": adapters, "volumes": volumes}
    )
    made = plan(share(chat), share(model("tiny", "org/tiny")), router={"api_key_file": "./secrets/key"})
    moved = with_absolute_paths(made, Path("/srv/stack")).manifest
    one, other = moved.models
    assert (one.source, other.source) == ("/srv/stack/models/chat", "org/tiny")
    assert [adapter.source for adapter in one.adapters] == ["/srv/stack/adapters/code", "org/sql@abc"]
    assert one.volumes == (
        "/srv/stack/data:/data:ro", "/srv/shared:/shared", "named:/named", "/abs:/abs", "~/mine:/mine",
    )  # fmt: skip
    assert moved.router.api_key_file == "/srv/stack/secrets/key"
