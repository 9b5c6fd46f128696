"""The report as people see it: in a real Chromium, on a desk, on a phone and on paper, in light and in dark.

What it looks like is left in .cache/screenshots, for eyes."""

from __future__ import annotations

import io
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal
from unicodedata import normalize

import pytest
from axe_playwright_python.sync_playwright import Axe
from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright
from pypdf import PdfReader

from kit.bench.html.charts import charts
from kit.bench.html.palette import DARK, LIGHT
from kit.bench.results import Bench, to_text
from tests.support.benches import EXAMPLE
from tests.support.paths import ROOT
from tests.support.typed import kit

pytestmark = pytest.mark.browser

SHOTS = ROOT / ".cache" / "screenshots"
DESK, PHONE, PAPER = 1280, 390, 680  # CSS pixels; A4 less its margins is 680
Scheme = Literal["light", "dark"]

# In the page: where every text of every chart is, in pixels of the screen.
BOXES = """() => [...document.querySelectorAll('svg')].map(svg => {
    const place = svg.getBoundingClientRect();
    return {left: place.left, right: place.right, texts: [...svg.querySelectorAll('text')].map(text => {
        const box = text.getBoundingClientRect();
        const size = parseFloat(getComputedStyle(text).fontSize) * place.width / svg.viewBox.baseVal.width;
        return {said: text.textContent, left: box.left, right: box.right, top: box.top, bottom: box.bottom, size};
    })};
})"""
OVERFLOW = """() => [...document.querySelectorAll('body *')].filter(node => !node.closest('svg, .scroll, pre'))
    .filter(node => node.getBoundingClientRect().right > document.documentElement.clientWidth + 1)
    .map(node => `${node.tagName} ${node.textContent.slice(0, 60)}`)"""
TOO_WIDE = """() => [...document.querySelectorAll('.scroll')].filter(box => box.scrollWidth > box.clientWidth + 1)
    .map(box => box.getAttribute('aria-label'))"""


def hostile() -> Bench:
    """The same with names that nobody would choose, and with much that nobody knows."""
    long, markup = "qwen2.5-1.5b-instruct-" * 4, "<script>document.title = 'owned'</script>"
    experiments = []
    for experiment in EXAMPLE.experiments:
        made = []
        for n, comparison in enumerate(experiment.comparisons):
            name = (long, markup, "🦙 模型")[n % 3]
            arms = tuple(replace(arm, name=f"{name} {arm.name}", runs=arm.runs[: 2 - n]) for arm in comparison.arms)
            made.append(replace(comparison, name=name, condition=f"{long} {markup}", arms=arms))
        experiments.append(replace(experiment, question=f"{long}?", constant=(long, markup), comparisons=tuple(made)))
    memory = tuple(replace(one, service=f"{long}{one.service}", measured=None) for one in EXAMPLE.memory)
    setup = replace(EXAMPLE.setup, card={"name": long}, notes=(markup,), profile=long)
    return Bench(setup, tuple(experiments), memory, "some day")


@dataclass(frozen=True)
class Report:
    """A page that was written, and what it is made from."""

    bench: Bench
    file: Path


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    done = subprocess.run(["scripts/browser", "--find"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=done.stdout.strip())
        yield started
        started.close()


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Report]:
    made = {}
    for name, bench in (("example", EXAMPLE), ("hostile", hostile())):
        folder = tmp_path_factory.mktemp(name)
        (folder / "bench.json").write_text(to_text(bench))
        kit("report", folder).good()
        made[name] = Report(bench, folder / "report.html")
    return made


def dots(width: int) -> int:
    """A phone has several of them for a CSS pixel."""
    return 2 if width == PHONE else 1


@dataclass(frozen=True)
class Seen:
    """An open page; `heard` is what it said to the console and asked of the network."""

    page: Page
    heard: list[str]


def opened(browser: Browser, report: Report, width: int, scheme: Scheme = "light") -> Seen:
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, device_scale_factor=dots(width)
    )
    page, heard = context.new_page(), list[str]()
    page.on("console", lambda message: heard.append(f"console: {message.text}"))
    page.on("pageerror", lambda error: heard.append(f"error: {error}"))
    page.on("request", lambda request: heard.append(f"request: {request.url}"))
    page.goto(report.file.as_uri())
    return Seen(page, heard)


@pytest.mark.parametrize("name", ["example", "hostile"])
def test_it_asks_the_network_for_nothing_and_has_nothing_to_complain_about(
    browser: Browser, reports: dict[str, Report], name: str
) -> None:
    seen = opened(browser, reports[name], DESK)
    seen.page.wait_for_load_state("networkidle")
    asked = [line for line in seen.heard if not line.startswith("request: data:")]
    assert asked == [f"request: {reports[name].file.as_uri()}"]
    assert seen.page.title().startswith("Benchmark of ")


@pytest.mark.parametrize("width", [DESK, PHONE])
def test_every_experiment_every_chart_and_every_verdict_is_there_to_see(
    browser: Browser, reports: dict[str, Report], width: int
) -> None:
    page = opened(browser, reports["example"], width).page
    shown = page.inner_text("main")
    for experiment in EXAMPLE.experiments:
        assert experiment.question in shown and experiment.varies in shown
        assert all(comparison.name in shown for comparison in experiment.comparisons)
    assert page.locator("svg:visible").count() == len(charts(EXAMPLE))
    assert EXAMPLE.setup.manifest.strip() in shown
    assert all(digest in shown for digest in EXAMPLE.setup.images.values())


@pytest.mark.parametrize("width", [320, PHONE, 768, 1000, DESK, 1920])
@pytest.mark.parametrize("name", ["example", "hostile"])
def test_the_page_never_scrolls_sideways(browser: Browser, reports: dict[str, Report], name: str, width: int) -> None:
    page = opened(browser, reports[name], width).page
    assert page.evaluate(OVERFLOW) == []
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


@pytest.mark.parametrize("width", [PHONE, DESK])
@pytest.mark.parametrize("name", ["example", "hostile"])
def test_no_word_of_a_chart_lies_over_another_or_is_cut_off(
    browser: Browser, reports: dict[str, Report], name: str, width: int
) -> None:
    found = opened(browser, reports[name], width).page.evaluate(BOXES)
    assert len(found) == len(charts(reports[name].bench))
    for chart in found:
        assert chart["texts"]
        assert not [
            t["said"] for t in chart["texts"] if t["left"] < chart["left"] - 4 or t["right"] > chart["right"] + 4
        ]
        assert not [(a["said"], b["said"]) for a, b in pairs(chart["texts"]) if covers(a, b)]


def pairs(texts: list[Any]) -> Iterator[tuple[Any, Any]]:
    return ((a, b) for n, a in enumerate(texts) for b in texts[n + 1 :])


def covers(a: Any, b: Any) -> bool:
    """By more than the room above and below letters."""
    wide = min(a["right"], b["right"]) - max(a["left"], b["left"])
    high = min(a["bottom"], b["bottom"]) - max(a["top"], b["top"])
    return bool(wide > 1 and high > 0.3 * (a["bottom"] - a["top"]))


def test_letters_of_charts_are_large_enough_on_a_phone(browser: Browser, reports: dict[str, Report]) -> None:
    found = opened(browser, reports["example"], PHONE).page.evaluate(BOXES)
    assert min(text["size"] for chart in found for text in chart["texts"]) >= 10


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [PHONE, DESK])
def test_it_can_be_used_by_all(browser: Browser, reports: dict[str, Report], width: int, scheme: Scheme) -> None:
    """axe-core: contrast of every text, names of regions and pictures, tables' heads, keyboard."""
    page = opened(browser, reports["example"], width, scheme).page
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()
    assert len(found.response["passes"]) > 20


def colours(page: Page) -> dict[str, str]:
    said = "([one, key]) => getComputedStyle(document.querySelector(one))[key]"
    asked = {"page": ("body", "backgroundColor"), "text": ("body", "color"), "chart": ("svg text", "fill")}
    asked["series"] = ("svg path[style*='fill: var(--series-1)']", "fill")
    return {name: page.evaluate(said, list(what)) for name, what in asked.items()}


def rgb(colour: str) -> str:
    return f"rgb({', '.join(str(int(colour[n : n + 2], 16)) for n in (1, 3, 5))})"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_page_and_charts_take_the_colours_of_the_theme(
    browser: Browser, reports: dict[str, Report], scheme: Scheme
) -> None:
    palette = {"light": LIGHT, "dark": DARK}[scheme]
    found = colours(opened(browser, reports["example"], DESK, scheme).page)
    assert (found["page"], found["text"], found["series"]) == (
        rgb(palette.background), rgb(palette.ink), rgb(palette.series[0]),
    )  # fmt: skip
    assert found["chart"] in (rgb(palette.ink), rgb(palette.muted))


def test_on_paper_it_is_light_and_nothing_is_cut_off(browser: Browser, reports: dict[str, Report]) -> None:
    page = opened(browser, reports["example"], PAPER, "dark").page
    page.emulate_media(media="print")
    assert colours(page)["page"] == rgb(LIGHT.background) and colours(page)["series"] == rgb(LIGHT.series[0])
    assert page.evaluate(OVERFLOW) == [] and page.evaluate(TOO_WIDE) == []


def test_printed_no_chart_is_torn(browser: Browser, reports: dict[str, Report]) -> None:
    page = opened(browser, reports["example"], DESK).page
    sheets = PdfReader(io.BytesIO(page.pdf(format="A4"))).pages
    pages = [normalize("NFKC", sheet.extract_text()) for sheet in sheets]  # fi is one sign there
    assert 5 < len(pages) < 25
    for chart in page.evaluate(BOXES):
        words = {text["said"] for text in chart["texts"]}
        assert any(all(word in sheet for word in words) for sheet in pages), words
    whole = "\n".join(pages)
    assert all(experiment.question in whole.replace("\n", " ") for experiment in EXAMPLE.experiments)


@pytest.mark.parametrize(
    ("name", "width", "scheme"),
    [("example", DESK, "light"), ("example", DESK, "dark"), ("example", PHONE, "light"), ("hostile", PHONE, "dark")],
)
def test_it_is_shown(browser: Browser, reports: dict[str, Report], name: str, width: int, scheme: Scheme) -> None:
    picture = opened(browser, reports[name], width, scheme).page.screenshot(full_page=True, timeout=120_000)
    SHOTS.mkdir(parents=True, exist_ok=True)
    (SHOTS / f"report-{name}-{width}-{scheme}.png").write_bytes(picture)
    with Image.open(io.BytesIO(picture)) as shot:
        assert shot.width == dots(width) * width and shot.height > 3000
        found = {colour for _, colour in shot.convert("RGB").getcolors(1 << 24) or ()}
    palette = {"light": LIGHT, "dark": DARK}[scheme]
    wanted = {palette.background, palette.ink, *palette.series}
    assert {tuple(int(one[n : n + 2], 16) for n in (1, 3, 5)) for one in wanted} <= found
