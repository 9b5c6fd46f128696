"""A handful of what scripts/fuzz gives by the hundred thousand."""

from __future__ import annotations

from hypothesis import given, settings

from tests.support import fuzzing


@settings(max_examples=150, deadline=None)
@given(fuzzing.texts("manifest"))
def test_a_manifest_of_any_kind_is_read_or_refused(data: bytes) -> None:
    fuzzing.manifest_is_read_or_refused(data)


@settings(max_examples=150, deadline=None)
@given(fuzzing.texts("compose"))
def test_a_compose_file_of_any_kind_is_read_or_refused(data: bytes) -> None:
    fuzzing.compose_is_read_or_refused(data)


def test_every_seed_is_read_by_what_it_was_written_for() -> None:
    good = [text for text in fuzzing.seeds("manifest") if fuzzing.manifest_is_read_or_refused(text.encode())]
    assert len(good) >= 3
    assert all(fuzzing.compose_is_read_or_refused(text.encode()) for text in fuzzing.seeds("compose"))
    rendered = (fuzzing.EXAMPLE / "monogpu.yaml").read_bytes()
    assert fuzzing.render_writes_all_or_nothing(rendered)
