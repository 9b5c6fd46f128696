from __future__ import annotations

import re
from xml.etree import ElementTree

from kit.bench.html.palette import EITHER
from kit.bench.html.svg import inline

RAW = f"""<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd">
<svg xmlns:xlink="http://www.w3.org/1999/xlink" width="380pt" height="100pt" viewBox="0 0 380 100"
 xmlns="http://www.w3.org/2000/svg" version="1.1">
 <metadata><note>who drew it</note></metadata>
 <defs><style type="text/css">*{{stroke-linejoin: round}}</style></defs>
 <g id="figure_1">
  <g id="patch_1">
   <path d="M 0.123456 1 L 2.5 3" clip-path="url(#p1)" style="fill: {EITHER.series[0]}; stroke: none"/></g>
  <g id="line_1"><defs><path id="m1" d="M 0 0" style="stroke: {EITHER.ink}"/></defs>
   <use xlink:href="#m1" x="1" y="2"/></g>
  <path d="M 1 1" style="fill: url(#h1)"/>
  <text style="font: bold 12px 'DejaVu Sans', sans-serif; text-anchor: end; fill: {EITHER.ink}" x="1.98765" y="2"
   transform="rotate(-0 1 2)">{EITHER.ink} &lt;b&gt; url(#p1)</text>
  <text style="font-size: 11px; font-family: 'DejaVu Sans'; fill: {EITHER.muted}" x="1" y="2">small</text>
 </g>
 <defs><clipPath id="p1"><rect x="0" y="0" width="9" height="9"/></clipPath></defs>
 <defs><pattern id="h1"><rect fill="{EITHER.series[1]}" width="7"/></pattern></defs>
</svg>
"""
MADE = inline(RAW, "chart-x", 'what "it" <says>', EITHER, 8)
ROOT = ElementTree.fromstring(MADE)


def test_it_is_one_element_that_is_read_out() -> None:
    assert MADE.startswith("<svg ") and MADE.endswith("</svg>") and "<?xml" not in MADE and "DOCTYPE" not in MADE
    assert (ROOT.get("role"), ROOT.get("aria-label")) == ("img", 'what "it" <says>')


def test_it_is_as_wide_as_its_place_without_the_edges() -> None:
    assert ROOT.get("viewBox") == "8 0 364 100" and ROOT.get("width") is None


def test_nothing_leaks_into_the_page() -> None:
    assert "<style" not in MADE and "metadata" not in MADE and "who drew it" not in MADE


def test_colours_are_variables_wherever_they_stand_and_text_is_left_alone() -> None:
    drawn = re.sub(r">[^<]*<", "><", MADE)
    assert not re.search(r"#[0-9a-f]{6}", drawn)
    assert {"var(--series-1)", "var(--series-2)", "var(--ink)", "var(--muted)"} <= set(re.findall(r"var\(.*?\)", drawn))
    assert [text.text for text in ROOT.iter("text")] == [f"{EITHER.ink} <b> url(#p1)", "small"]


def test_fonts_are_the_page_s_in_the_drawing_s_sizes() -> None:
    styles = [text.get("style") or "" for text in ROOT.iter("text")]
    assert "font-size: 12px; font-weight: bold" in styles[0] and "font-size: 11px" in styles[1]
    assert "DejaVu" not in MADE and "text-anchor: end" in styles[0]


def test_ids_are_the_chart_s_own_and_every_reference_finds_its_own() -> None:
    ids = [str(node.get("id")) for node in ROOT.iter() if node.get("id")]
    assert len(ids) == 3 and len(set(ids)) == 3 and all(one.startswith("chart-x-") for one in ids)
    values = " ".join(value for node in ROOT.iter() for value in node.attrib.values())
    assert set(re.findall(r"#([\w-]+)", values)) == set(ids)


def test_numbers_are_short_and_groups_that_say_nothing_are_gone() -> None:
    assert "0.12 1" in MADE and "0.123" not in MADE and 'x="1.98"' in MADE and "rotate" not in MADE
    assert not [group for group in ROOT.iter("g") if not group.attrib]
