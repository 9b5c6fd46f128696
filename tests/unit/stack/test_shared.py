"""What is printed once. That nothing changes by it is in test_render.py: every stack reads back as it is."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings

from kit.assemble import assemble
from kit.stack.compose_keys import Keys
from kit.stack.labels import MODEL, ROLE, TASK
from kit.stack.model import Service, Stack
from kit.stack.shared import Layout, lay_out
from kit.stack.yaml_lines import Alias, Anchored, Flow, Node
from tests.support.strategies import model, plan, share, stacks


def worker(name: str, image: str = "a/worker:1", role: str = "worker", **fields: object) -> Service:
    labels = ((ROLE, role), (MODEL, name), (TASK, "generate"))
    return replace(Service(name, image, ("serve", name), labels=labels), **fields)  # type: ignore[arg-type]


def laid_out(*services: Service, **fields: tuple[tuple[str, str], ...]) -> Layout:
    return lay_out(Stack("p", (), services, (), (), (), (), **fields))


def block(layout: Layout, name: str) -> Keys:
    (found,) = (one.value for one in layout.blocks if one.name == name)
    assert isinstance(found, dict)
    return found


def own(layout: Layout, name: str) -> Keys:
    return next(keys for service, keys in layout.services if service.name == name)


def names(layout: Layout) -> list[str]:
    return [one.name for one in (*layout.texts, *layout.blocks)]


def test_one_service_shares_nothing() -> None:
    layout = laid_out(worker("chat"))
    assert names(layout) == []
    assert "<<" not in own(layout, "chat")


def test_all_services_share_what_they_all_have_equal() -> None:
    layout = laid_out(worker("chat"), worker("router", "a/router:1", "router", user="0:0"))
    assert names(layout) == ["common"]
    assert {"init", "cap_drop", "security_opt", "logging", "restart"} <= block(layout, "common").keys()
    assert own(layout, "router").keys() == {"<<", "image", "command", "user", "labels"}
    assert own(layout, "chat")["<<"] == Alias("common")


def test_services_of_one_role_and_image_share_more() -> None:
    layout = laid_out(
        worker("chat", shm_bytes=7), worker("embed", shm_bytes=7), worker("router", "a/router:1", "router")
    )
    assert names(layout) == ["common", "worker"]
    assert block(layout, "worker").keys() == {"image", "shm_size", "labels"}
    assert own(layout, "chat")["<<"] == Flow([Alias("common"), Alias("worker")])


def test_a_mapping_that_is_equal_in_part_is_merged_where_it_stands() -> None:
    layout = laid_out(worker("chat"), worker("embed"), worker("router", "a/router:1", "router"))
    assert block(layout, "worker")["labels"] == Anchored("worker-labels", {ROLE: "worker", TASK: "generate"})
    assert own(layout, "embed")["labels"] == Flow({"<<": Alias("worker-labels"), MODEL: "embed"})


def test_a_service_that_adds_nothing_to_a_mapping_does_not_mention_it() -> None:
    both = (("A", "1"), ("B", "2"))
    layout = laid_out(
        worker("chat", environment=both), worker("embed", environment=(*both, ("C", "3"))), worker("x", "a/x:1")
    )
    assert "environment" not in own(layout, "chat")
    assert own(layout, "embed")["environment"] == Flow({"<<": Alias("worker-environment"), "C": "3"})


@pytest.mark.parametrize("other", [(("A", "1"), ("B", "3")), (("A", "1"),), ()])
def test_a_single_equal_entry_is_not_worth_an_anchor(other: tuple[tuple[str, str], ...]) -> None:
    layout = laid_out(worker("chat", environment=(("A", "1"), ("B", "2"))), worker("embed", environment=other))
    assert own(layout, "chat")["environment"] == {"A": "1", "B": "2"}


def test_what_one_of_them_lacks_is_not_shared_since_a_merge_cannot_be_taken_back() -> None:
    layout = laid_out(worker("chat", shm_bytes=7), worker("embed", shm_bytes=7), worker("rank"))
    assert [own(layout, name).get("shm_size") for name in ("chat", "embed", "rank")] == [7, 7, None]


def test_the_second_group_of_a_role_has_a_number() -> None:
    two = [worker(f"{name}-{n}", f"{name}/image:1") for name in ("a", "b") for n in (1, 2)]
    assert names(laid_out(*two)) == ["common", "worker", "worker-2"]


def test_a_text_that_commands_repeat_is_printed_once_under_its_name() -> None:
    texts = (("script", "import this"), ("once", "chat"))
    two = [worker(name, command=("-c", "import this", name)) for name in ("chat", "embed")]
    layout = laid_out(*two, texts=texts)
    assert [(text.name, text.value) for text in layout.texts] == [("script", "import this")]
    assert own(layout, "chat")["command"] == Flow(("-c", Alias("script"), "chat"))
    assert [text.name for text in laid_out(two[0], texts=texts).texts] == []


@settings(max_examples=25)
@given(stacks(most=6))
def test_every_anchor_is_there_once_and_before_it_is_used_and_every_block_has_two_services(stack: Stack) -> None:
    layout = lay_out(stack)
    there: list[str] = []
    for one in (*layout.texts, *layout.blocks):
        assert set(aliases(one.value)) <= set(there)
        there += [one.name, *anchors(one.value)]
    assert len(there) == len(set(there))
    merged = [name for _, keys in layout.services for name in aliases(keys)]
    assert set(merged) | {alias for one in layout.blocks for alias in aliases(one.value)} == set(there)
    assert all(merged.count(one.name) > 1 for one in layout.blocks)


def test_a_model_more_leaves_the_blocks_of_a_trio_alone() -> None:
    shares = [share(model(name, source=f"org/{name}")) for name in ("a", "b", "c")]
    two, three = (lay_out(assemble(plan(*shares[:n]))) for n in (2, 3))
    assert two.blocks == three.blocks
    assert names(three) == [
        "download-script", "download-allow", "download-ignore", "common", "download", "worker"
    ]  # fmt: skip


def inside(node: Node) -> list[Node]:
    match node:
        case Anchored() | Flow():
            return [node.value]
        case dict():
            return list(node.values())
        case list() | tuple():
            return list(node)
    return [node.items] if hasattr(node, "items") else []


def aliases(node: Node) -> list[str]:
    return [node.name] if isinstance(node, Alias) else [name for one in inside(node) for name in aliases(one)]


def anchors(node: Node) -> list[str]:
    here = [node.name] if isinstance(node, Anchored) else []
    return here + [name for one in inside(node) for name in anchors(one)]
