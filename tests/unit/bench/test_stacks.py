"""Which stack runs, without an Engine; stacks that change are in test_bench_real.py."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest

from kit.bench.design import (
    AS_GIVEN,
    StackVariant,
)
from kit.bench.journal import StackStarted
from kit.bench.stacks import StackFolders, StackRunner
from kit.compose.events import Watch, unwatched
from kit.compose.spec import ProjectSpec
from kit.compose.wait import Clock
from kit.errors import TargetError
from kit.manifest.model import Manifest
from tests.support.composefiles import printed
from tests.support.planning import model
from tests.support.typed import ROOT

MANIFEST = Manifest.model_validate({"name": "test", "models": [model(), model("tiny", replicas=2)]})
GIVEN = StackVariant(AS_GIVEN, MANIFEST)


@dataclass
class Yard:
    """A place whose stack comes up at once, or does not."""

    done: list[str] = field(default_factory=list)
    seconds: float = 0.0
    broken: str = ""

    def bring(self) -> None:
        self._do("bring", 30)

    def verify(self, folder: Path) -> None:
        self._do(f"verify {folder}", 5)

    def _do(self, what: str, seconds: float) -> None:
        self.done.append(what)
        self.seconds += seconds
        if self.broken and what.startswith(self.broken):
            raise TargetError("it does not answer")


@contextmanager
def watching() -> Iterator[Watch]:
    yield unwatched


def runner(yard: Yard) -> StackRunner:
    place = StackFolders("test", Path("given"), Path("others"), yard.bring, lambda variant, folder: None, yard.verify)
    clock = Clock(now=lambda: yard.seconds, sleep=lambda seconds: None)
    return StackRunner(cast(Any, None), {}, place, cast(Any, None), watching, 60, clock)


def test_the_user_s_stack_is_brought_up_verified_and_timed_once() -> None:
    yard = Yard()
    made = runner(yard)
    assert made.ensure(GIVEN) == StackStarted(AS_GIVEN, 35, 3)
    assert made.ensure(GIVEN) is None
    assert yard.done == ["bring", "verify given"] and made.now == GIVEN


def test_with_the_user_s_stack_alone_nothing_has_changed() -> None:
    made = runner(Yard())
    assert not made.changed
    made.ensure(GIVEN)
    assert not made.changed


@pytest.mark.parametrize("broken", ["bring", "verify"])
def test_a_stack_that_does_not_come_up_or_does_not_answer_is_not_measured(broken: str) -> None:
    made = runner(Yard(broken=broken))
    with pytest.raises(TargetError, match="it does not answer"):
        made.ensure(GIVEN)
    assert made.key() is None if broken == "bring" else made.now == GIVEN


class Volumes:
    """An Engine that has these volumes."""

    def __init__(self, *names: str) -> None:
        self.api, self.names = self, list(names)

    def volumes(self) -> dict[str, Any]:
        return {"Volumes": [{"Name": name} for name in self.names]}

    def remove_volume(self, name: str) -> None:
        self.names.remove(name)


def with_volumes(example: str, engine: Volumes) -> StackRunner:
    """A runner whose other stacks are an example's, under its name."""
    folder = ROOT / "compose" / example
    place = StackFolders(
        read(folder, {}).name, folder, folder, lambda: None, lambda variant, folder: None, lambda folder: None
    )
    return StackRunner(cast(Any, engine), {}, place, cast(Any, None), watching, 60, read=read)


def read(folder: Path, environ: Mapping[str, str]) -> ProjectSpec:
    file = folder / "docker-compose.yaml"
    return printed(file.read_text(), file, environ)


def wants_caches(example: str, engine: Volumes) -> bool:
    return with_volumes(example, engine)._wants_caches(ROOT / "compose" / example)


def test_a_warm_start_wants_the_caches_that_a_start_leaves() -> None:
    assert wants_caches("trio-16gb", Volumes())
    assert wants_caches("trio-16gb", Volumes("trio_huggingface", "other_triton"))
    assert not wants_caches("trio-16gb", Volumes("trio_compiled-chat"))


def test_a_stack_without_compile_caches_is_always_warm() -> None:
    assert not wants_caches("cpu-demo", Volumes())


def test_a_cold_start_has_none_of_its_own_caches_and_everything_else() -> None:
    engine = Volumes("trio_compiled-chat", "trio_triton", "trio_huggingface", "other_compiled-chat")
    with_volumes("trio-16gb", engine)._erase_caches()
    assert engine.names == ["trio_huggingface", "other_compiled-chat"]


def test_where_nothing_stands_there_is_no_key() -> None:
    assert runner(Yard()).key() is None
