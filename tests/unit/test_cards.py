"""Cards by name and by the size that they are sold with."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.cards import CARDS, KEPT_MIB, KEPT_PART, SOLD, Card, named, near, of_size
from kit.gpu import GpuError
from kit.memory.constants import constants_for
from kit.units import GIB, MIB
from tests.support.paths import ROOT

NAMES = {
    "RTX 4090": "RTX 4090",
    "NVIDIA GeForce RTX 4090": "RTX 4090",
    "rtx-5080": "RTX 5080",
    "5070 ti": "RTX 5070 Ti",
    "4080 (Super)": "RTX 4080 SUPER",
    "rtx_4070_ti_super": "RTX 4070 Ti SUPER",
    "4060 Ti 16": "RTX 4060 Ti 16GB",
    "4060ti-8gb": "RTX 4060 Ti 8GB",
    "RTX 4090 24GB": "RTX 4090",
    "3060-12": "RTX 3060 12GB",
    "3060": "RTX 3060 12GB",
    "L4": "L4",
    "L40S": "L40S",
    "Tesla T4": "T4",
    "A10": "A10",
    "A10G": "A10G",
    "A100-40": "A100 40GB",
    "NVIDIA A100-SXM4-80GB": "A100 80GB",
    "Tesla V100-SXM2-32GB": "V100 32GB",
    "NVIDIA H100 80GB HBM3": "H100 80GB",
    "H100 PCIe": "H100 80GB",
    "H200": "H200",
    "A6000": "RTX A6000",
    "NVIDIA RTX 6000 Ada Generation": "RTX 6000 Ada",
    "NVIDIA RTX PRO 6000 Blackwell Workstation Edition": "RTX PRO 6000",
}
ROWS = {card.name: card for card in CARDS}


@pytest.mark.parametrize(("text", "name"), NAMES.items(), ids=NAMES)
def test_a_card_is_found_by_how_people_write_it(text: str, name: str) -> None:
    found = named(text)
    assert found is not None
    assert found.name.endswith(name)
    assert (found.total_bytes, found.free_bytes) == (ROWS[name].usable_mib * MIB, ROWS[name].usable_mib * MIB)
    assert found.compute_capability == ROWS[name].capability


@st.composite
def spellings(draw: st.DrawFn) -> tuple[str, str]:
    """A row's name with other separators and other capitals; a size stays apart from what is before it."""
    card = draw(st.sampled_from(CARDS))
    words = re.sub(r"(?<=[A-Za-z])(?=\d{4})", " ", card.name).split()
    text = draw(st.sampled_from(["", "NVIDIA ", "nvidia geforce ", "  "])) + words[0]
    for word in words[1:]:
        apart = [" ", "-", "_", "  "] if re.fullmatch(r"\d+GB", word) else [" ", "-", "_", ""]
        text += draw(st.sampled_from(apart)) + word
    change = draw(st.sampled_from([str.lower, str.upper, str]))
    return card.name, change(text) + draw(st.sampled_from(["", " "]))


@given(spellings())
def test_spaces_dashes_and_capitals_do_not_matter(written: tuple[str, str]) -> None:
    name, text = written
    found = named(text)
    assert found is not None and found.name.endswith(name)


@given(st.text())
def test_any_text_is_a_card_a_size_or_refused(text: str) -> None:
    try:
        assert (named(text) or of_size(text)).total_bytes > 0
    except GpuError as error:
        assert "card" in str(error)


@pytest.mark.parametrize("text", ["V100", "rtx 3080", "RTX 4060 Ti", "a100"])
def test_a_name_that_several_cards_have_is_asked_about(text: str) -> None:
    with pytest.raises(GpuError, match=r"several cards .* did you mean '.*' or '.*'"):
        named(text)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("RTX 4009", "did you mean 'RTX 4090'"),
        ("rtx 5800", "'RTX 5080'"),
        ("L44", "'L4'"),
        ("RTX 4090 Laptop GPU", "is a card of a notebook"),
        ("xyzzy", "needed: its name"),
    ],
)
def test_an_unknown_card_is_refused_with_names_that_are_near(text: str, hint: str) -> None:
    assert named(text) is None
    with pytest.raises(GpuError, match=re.escape(hint)):
        of_size(text)


def test_a_card_of_another_size_than_the_row_is_not_the_row() -> None:
    assert named("RTX 4090 48GB") is None
    assert named("RTX 4060 Ti 12GB") is None


@pytest.mark.parametrize("card", CARDS, ids=lambda card: card.name)
def test_a_row_is_plausible(card: Card) -> None:
    assert 0.9 * card.total < card.usable_mib <= card.total <= card.sold * 1024
    assert card.sold in SOLD
    assert re.fullmatch(r"(7\.[05]|8\.[069]|9\.0|1[02]\.0)", card.capability)
    assert bool(card.source) == (card.usable is not None)
    assert 128 <= constants_for(card.capability).context // MIB <= 1024


def test_names_are_unique_and_found_as_themselves() -> None:
    assert len(ROWS) == len(CARDS) >= 50
    assert [card.name for card in CARDS if (found := named(card.name)) and found.name.endswith(card.name)] == list(ROWS)


def test_what_is_assumed_is_no_less_than_what_the_driver_was_seen_to_keep() -> None:
    """Both assumptions, of a card without a figure and of a bare size, against every card with one."""
    seen = [(card, card.usable) for card in CARDS if card.usable is not None]
    assert [card.name for card, usable in seen if card.total - usable > card.share] == []
    plain = [(card, usable) for card, usable in seen if not card.ecc]
    kept = {card.name: card.sold * 1024 - usable for card, usable in plain}
    assert [n for n, mib in kept.items() if mib > max(KEPT_MIB, KEPT_PART * ROWS[n].sold * 1024)] == []
    assert len(plain) >= 12


def test_what_was_not_found_is_said_to_be_assumed() -> None:
    assumed, sourced = named("RTX 4080"), named("RTX 4090")
    assert assumed is not None and "assumed, 660 MiB less than nvidia-smi shows" in " ".join(assumed.assumed)
    assert sourced is not None and sourced.assumed == () and "vllm-project/vllm#42049" in sourced.origin


@pytest.mark.parametrize("text", ["16GiB", "24GiB", f"{16 * GIB}"])
def test_a_size_that_cards_are_sold_with_leaves_less_and_says_so(text: str) -> None:
    card = of_size(text)
    sold = round(card.total_bytes / GIB + 0.5)
    assert card.total_bytes == sold * GIB - KEPT_MIB * MIB
    assert f"of {sold} GiB are for programs" in card.assumed[0]
    assert card.name == f"a card of {sold}GiB"


@pytest.mark.parametrize("text", ["15.47GiB", "13GiB", "15824MiB"])
def test_any_other_size_is_what_programs_get(text: str) -> None:
    assert of_size(text).total_bytes == of_size(text).free_bytes
    assert abs(of_size(text).total_bytes - float(re.sub(r"[A-Za-z]+", "", text)) * (MIB if "M" in text else GIB)) < 1


def test_the_table_is_there_as_text() -> None:
    """docs/cards.md says of each card what a plan takes."""
    text = (ROOT / "docs" / "cards.md").read_text(encoding="utf-8")
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")][1:]
    assert len(rows) == len(CARDS) and all(len(row) == 6 and all(row) for row in rows)
    assert ["RTX 5070 Ti", "16303", "15842", "12.0", "256", "llama.cpp's listing of devices"] in rows
    for name, _, _, capability, context, _ in rows:
        assert ROWS[name].capability == capability
        assert constants_for(capability).context == int(context) * MIB


def test_near_names_come_from_the_table() -> None:
    assert set(near("RTX 409")) <= set(ROWS)
