"""Workers that must begin anew go away one at a time, as long as nobody needs the memory of one who still serves."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kit.compose import create_request
from kit.compose.observed import ContainerState, NetworkState, ObservedState
from kit.compose.operation import Operation
from kit.compose.reconcile import reconcile
from kit.compose.spec import ProjectSpec
from kit.stack import labels as kit_labels
from tests.support.composefiles import printed as project

FILE = Path("/srv/p/docker-compose.yaml")
NAMES = ("chat", "embed", "other")


def file(sizes: tuple[int | None, ...], sequential: bool = True, restart: bool = False, command: str = "two") -> str:
    """Workers of these sizes behind a router; in sequence each waits for the one before it."""
    services = ['  card: {image: "base:1", network_mode: "none"}'] if restart else []
    before: str | None = None
    for name, size in zip(NAMES, sizes, strict=True):
        said = "" if size is None else f', {kit_labels.BYTES}: "{size}"'
        needs = {before: "service_healthy"} if before and sequential else {}
        listed = [f"{need}: {{condition: {word}}}" for need, word in needs.items()]
        listed += ["card: {condition: service_healthy, restart: true}"] if restart else []
        services += [
            f'  {name}: {{image: "vllm:1", command: [{command}], labels: {{{kit_labels.ROLE}: worker{said}}}, '
            f"depends_on: {{{', '.join(listed)}}}}}"
        ]
        before = name
    last = ", ".join(f"{name}: {{condition: service_healthy}}" for name in NAMES)
    services += [f'  router: {{image: "smg:1", labels: {{{kit_labels.ROLE}: router}}, depends_on: {{{last}}}}}']
    return "name: p\nservices:\n" + "\n".join(services) + "\n"


def running(text: str, **status: str) -> ObservedState:
    """All that the file says runs and is healthy; `status` of those that do not."""
    of = project(text, FILE, {})
    images = {service.image: f"sha256:{service.image}" for service in of.services}
    made = tuple(_container(of, name, images, status.get(name, "running")) for name in [s.name for s in of.services])
    return ObservedState(made, (NetworkState("p_default", False, "p"),), frozenset(), images)


def _container(of: ProjectSpec, name: str, images: dict[str, str], status: str) -> ContainerState:
    service = of.service(name)
    image = images[service.image]
    return ContainerState(
        f"id-{name}", service.container, name, 1, image, status, "healthy" if status == "running" else None,
        labels={**dict(service.labels), **create_request.container_labels(of, service, image, "", "2.26.1")},
        networks=frozenset(of.network(use.network).name for use in service.networks) or frozenset({"none"}),
    )  # fmt: skip


def decided(before: str, after: str, **status: str) -> list[Operation]:
    return list(reconcile(project(after, FILE, {}), running(before, **status), {}))


def words(operations: list[Operation]) -> list[str]:
    return [f"{op.verb} {op.name}" for op in operations if op.verb != "keep"]


ONE_BY_ONE = [f"{verb} {name}" for name in NAMES for verb in ("drain", "replace")]
ALL_FIRST = ["drain chat, embed, other", "stop other", "stop embed", "replace chat", "replace embed", "replace other"]


def test_workers_that_stay_as_large_go_away_one_by_one() -> None:
    assert words(decided(file((9, 4, 2)), file((9, 4, 2), command="new"))) == ONE_BY_ONE
    assert words(decided(file((9, 4, 2)), file((8, 5, 2), command="new"))) == ONE_BY_ONE


def test_a_drain_says_whom_it_takes_out_and_for_whose_turn() -> None:
    drains = [op for op in decided(file((9, 4, 2)), file((9, 4, 2), command="new")) if op.verb == "drain"]
    assert [(op.targets, op.before) for op in drains] == [((name,), name) for name in NAMES]
    (first,) = [op for op in decided(file((8, 5, 2)), file((9, 4, 2), command="new")) if op.verb == "drain"]
    assert (first.targets, first.before) == (NAMES, "")


def test_another_build_of_their_image_takes_one_name_at_a_time_away() -> None:
    now = running(file((9, 4, 2)))
    newer = replace(now, images={**(now.images or {}), "vllm:1": "sha256:new"})
    found = list(reconcile(project(file((9, 4, 2)), FILE, {}), newer, {}))
    assert words(found) == ONE_BY_ONE
    assert {op.cause for op in found if op.verb == "replace"} == {"vllm:1 is another build now"}


def test_where_one_grows_before_another_gives_up_its_memory_all_go_first() -> None:
    assert words(decided(file((8, 5, 2)), file((9, 4, 2), command="new"))) == ALL_FIRST
    assert words(decided(file((8, 4, 2)), file((8, 5, 1), command="new"))) == ALL_FIRST


def test_the_last_one_may_grow_into_what_the_others_left() -> None:
    assert words(decided(file((8, 4, 2)), file((8, 4, 3), command="new"))) == ONE_BY_ONE


def test_a_size_that_nobody_says_is_no_reason_to_trust() -> None:
    assert words(decided(file((8, None, 2)), file((8, None, 2), command="new"))) == ALL_FIRST


def test_one_that_does_not_run_needs_memory_that_nobody_holds_for_it() -> None:
    text = file((8, 4, 2), command="new")
    assert words(decided(file((8, 4, 2)), text, chat="exited"))[:3] == [
        "drain embed, other",
        "stop other",
        "stop embed",
    ]
    assert words(decided(file((8, 4, 2)), text, other="exited")) == [*ONE_BY_ONE[:4], "replace other"]


def test_it_is_the_same_for_workers_that_start_side_by_side() -> None:
    assert words(decided(file((9, 4, 2), False), file((9, 4, 2), False, command="new"))) == ONE_BY_ONE


def test_workers_that_lose_what_they_cannot_be_without_all_go_first() -> None:
    before, after = file((9, 4, 2), restart=True), file((9, 4, 2), restart=True, command="new")
    assert words(decided(before, after)) == ONE_BY_ONE
    lost = words(decided(before, after.replace("base:1", "base:2")))
    assert lost[:3] == ["pull base:2", ALL_FIRST[0], "stop other"] or lost[:2] == [ALL_FIRST[0], "stop other"]


SIZES = st.tuples(*(st.integers(1, 9) for _ in NAMES))
CHANGED = st.sets(st.sampled_from(NAMES))


@given(SIZES, SIZES, CHANGED, st.sets(st.sampled_from(NAMES)))
def test_what_runs_at_any_moment_fits_where_both_plans_fit(
    old: Any, new: Any, changed: set[str], gone: set[str]
) -> None:
    """Before and afterwards fit; so does every moment between."""
    after = tuple(n if name in changed else o for name, o, n in zip(NAMES, old, new, strict=True))
    room = max(sum(old), sum(after))
    held = {name: size for name, size in zip(NAMES, old, strict=True) if name not in gone}
    for op in decided(file(old), file(after), **dict.fromkeys(gone, "exited")):
        if op.verb == "stop":
            held.pop(op.name, None)
        if op.verb in ("replace", "create", "start"):
            held.pop(op.name, None)
            held[op.name] = dict(zip(NAMES, after, strict=True))[op.name]
        assert sum(held.values()) <= room, op
