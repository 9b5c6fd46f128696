"""matplotlib's SVG file -> an element of a page. Pure.

The page lends its font and, by variables, its colours: one drawing serves light and dark. What would leak into the page
(a style for everything) or clash with the next drawing (ids) goes.
"""

from __future__ import annotations

import re
from itertools import count
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from kit.bench.html.palette import Palette

SVG = "http://www.w3.org/2000/svg"
HREF = "{http://www.w3.org/1999/xlink}href"
_LINKED = re.compile(r"#([\w-]+)\)?$")
_LONG = re.compile(r"(\d\.\d\d)\d+")
_FONT = re.compile(r"(?:(bold|[1-9]00) )?([\d.]+px) ")  # of the shorthand that older versions write
_UNITS = ("metadata", "style")


def inline(text: str, name: str, words: str, palette: Palette, edge: float) -> str:
    """The drawing `text` as an <svg> that is read out as `words`, without the empty edge at its left and right. Its ids
    begin with `name`; the colours of `palette` become variables."""
    root = ElementTree.fromstring(text)
    ids = (f"{name}-{n}" for n in count(1))
    renamed = {old: next(ids) for old in dict.fromkeys(_links(root))}
    colours = {colour: f"var(--{role})" for role, colour in palette.named()}
    _clean(root, renamed, colours)
    left, top, width, height = (float(part) for part in root.get("viewBox", "0 0 0 0").split())
    box = f"{left + edge:g} {top:g} {width - 2 * edge:g} {height:g}"
    made = Element("svg", {"viewBox": box, "role": "img", "aria-label": words})
    made.extend(_flat(root))
    return re.sub(r"\s*\n\s*", "\n", ElementTree.tostring(made, encoding="unicode"))


def _links(root: Element) -> list[str]:
    """The ids that something refers to."""
    values = [value for node in root.iter() for key, value in node.attrib.items() if key not in ("id", "d")]
    return [found[1] for value in values for part in value.split(";") if (found := _LINKED.search(part.strip()))]


def _clean(node: Element, renamed: dict[str, str], colours: dict[str, str]) -> None:
    node.tag = node.tag.removeprefix(f"{{{SVG}}}")
    attributes = {key.replace(HREF, "href"): value for key, value in node.attrib.items()}
    node.attrib.clear()
    for key in ("fill", "stroke"):  # a variable is no value of an attribute, but one of a style
        if attributes.get(key) in colours:
            attributes["style"] = f"{key}: {attributes.pop(key)}; {attributes.get('style', '')}"
    for key, value in attributes.items():
        said = _attribute(key, value, renamed, colours)
        if said:
            node.set(key, said)
    for child in list(node):
        _clean(child, renamed, colours)
        if child.tag in _UNITS:
            node.remove(child)


def _attribute(key: str, value: str, renamed: dict[str, str], colours: dict[str, str]) -> str:
    if key == "id":
        return renamed.get(value, "")
    if key == "style":
        return "; ".join(_declaration(one.strip(), renamed, colours) for one in value.split(";") if _kept(one.strip()))
    if key == "transform" and value.startswith(("rotate(-0 ", "rotate(0 ")):
        return ""
    return _pointing(_LONG.sub(r"\1", value) if key in ("d", "x", "y", "transform") else value, renamed)


def _kept(declaration: str) -> bool:
    return bool(declaration) and not declaration.startswith("font-family")


def _declaration(declaration: str, renamed: dict[str, str], colours: dict[str, str]) -> str:
    name, _, value = declaration.partition(":")
    if name == "font" and (font := _FONT.search(value.strip() + " ")):
        return f"font-size: {font[2]}" + (f"; font-weight: {font[1]}" if font[1] else "")
    return f"{name}: {colours.get(value.strip(), _pointing(value.strip(), renamed))}"


def _pointing(value: str, renamed: dict[str, str]) -> str:
    """A reference to the id's new name; any other value as it is."""
    found = _LINKED.search(value)
    return value.replace(f"#{found[1]}", f"#{renamed[found[1]]}") if found and found[1] in renamed else value


def _flat(node: Element) -> list[Element]:
    """The children, those of groups that say nothing in place of the groups."""
    made: list[Element] = []
    for child in node:
        inner = _flat(child)
        if child.tag in ("g", "defs") and not child.attrib and (child.tag == "g" or not inner):
            made.extend(inner)
            continue
        for old in list(child):
            child.remove(old)
        child.extend(inner)
        made.append(child)
    return made
