"""The picture of the README: who talks to whom, and how the card of compose/trio-16gb is shared out by its plan."""

from __future__ import annotations

from pathlib import Path
from xml.sax.saxutils import escape

ROOT = Path(__file__).resolve().parents[2]
FONT = "font-family='system-ui, sans-serif'"
COLOURS = ("#2f6f9f", "#b5651d", "#4f7d3a")
ALT = "Clients ask one endpoint; a router passes each request to the worker of its model; all share one card"
LEFT, WIDTH = 20, 720  # of the card's bar


def svg() -> str:
    from kit.project.load import planned, read_project

    plan = planned(read_project(ROOT / "compose/trio-16gb/monogpu.yaml"), None)
    total = plan.gpu.total_bytes
    held = [(share.service, share.total_bytes) for share in plan.shares]
    body = _above([name for name, _ in held]) + _card(held, total, plan.usable_bytes)
    return (
        "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 760 300' role='img'"
        f" aria-label='{ALT}'>\n"
        "<rect width='760' height='300' rx='8' fill='#ffffff'/>\n" + "\n".join(body) + "\n</svg>\n"
    )


def _above(names: list[str]) -> list[str]:
    """Client, router and workers."""
    parts = _box(20, 62, 150, "OpenAI client", '"model": "chat"') + _box(250, 62, 170, "router", "127.0.0.1:30000/v1")
    parts += [_line(170, 90, 246, 90)]
    for row, name in enumerate(names):
        y = 20 + row * 50
        parts += _box(540, y, 200, name, "a vLLM worker", COLOURS[row], 42)
        parts.append(_line(420, 90, 536, y + 21))
    return parts


def _card(held: list[tuple[str, int]], total: int, usable: int) -> list[str]:
    """The card as a bar, each worker as wide as its planned bytes."""
    from kit.units import GIB

    parts = [
        _text(LEFT, 200, f"one card, {total / GIB:.2f} GiB: every worker has its planned bytes", "#222", 14, "start")
    ]
    reserved = total - usable
    x = LEFT + WIDTH * reserved / total
    parts += [f"<rect x='{LEFT}' y='212' width='{WIDTH}' height='46' fill='#d8d8d8'/>"]
    for row, (name, size) in enumerate(held):
        wide = WIDTH * size / total
        parts += [f"<rect x='{x:.1f}' y='212' width='{wide:.1f}' height='46' fill='{COLOURS[row]}'/>"]
        parts += [_text(x + wide / 2, 240, f"{name}  {size / GIB:.2f} GiB", "#fff", 14)]
        x += wide
    free = total - reserved - sum(size for _, size in held)
    grey = f"grey: {reserved / GIB:.2f} GiB left to the desktop and as a margin, {free / GIB:.2f} GiB spare"
    return [*parts, _text(LEFT, 280, grey, "#444", 13, "start")]


def _box(x: int, y: int, wide: int, title: str, below: str, colour: str = "#444444", high: int = 56) -> list[str]:
    middle = x + wide / 2
    frame = (
        f"<rect x='{x}' y='{y}' width='{wide}' height='{high}' rx='6' fill='#fff' stroke='{colour}' stroke-width='2'/>"
    )
    return [
        frame,
        _text(middle, y + high / 2 - 3, title, colour, 15),
        _text(middle, y + high / 2 + 14, below, "#444", 12),
    ]


def _line(x: int, y: int, to_x: int, to_y: int) -> str:
    end = f"<circle cx='{to_x}' cy='{to_y}' r='3' fill='#666'/>"
    return f"<path d='M{x} {y} L{to_x} {to_y}' stroke='#666' stroke-width='1.5' fill='none'/>{end}"


def _text(x: float, y: float, text: str, colour: str, size: int, anchor: str = "middle") -> str:
    place = f"x='{x:.1f}' y='{y:.1f}' text-anchor='{anchor}'"
    return f"<text {place} font-size='{size}' fill='{colour}' {FONT}>{escape(text)}</text>"
