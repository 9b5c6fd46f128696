"""`${NAME}` as Docker Compose replaces it, and the `.env` file beside a compose file. Pure: the environment comes in.

`$$` is a dollar; `$NAME` and `${NAME}` the value, or nothing; `:-` a default for unset or empty, `-` for unset;
`:?` and `?` stop with words; `:+` and `+` give another text when there is a value. Defaults and words may nest.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_BODY = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(?:(:?[-?+])(.*))?", re.DOTALL)
_LINE = re.compile(r"\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_.]*)\s*[=:]\s*(.*?)\s*")
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", '"': '"', "\\": "\\", "$": "$$"}


class MissingVariableError(ValueError):
    """A variable that the file demands is not set; `words` are the file's own."""

    def __init__(self, name: str, words: str) -> None:
        self.name = name
        self.words = words
        super().__init__(f"{name} is not set: {words}")


def interpolate(text: str, variables: Mapping[str, str]) -> str:
    """`text` with its variables replaced. Raises MissingVariableError, or ValueError for a lone dollar."""
    done: list[str] = []
    at = 0
    while (dollar := text.find("$", at)) >= 0:
        value, end = _expression(text, dollar + 1, variables)
        done += [text[at:dollar], value]
        at = end
    return "".join(done) + text[at:]


def _expression(text: str, at: int, variables: Mapping[str, str]) -> tuple[str, int]:
    if text.startswith("$", at):
        return "$", at + 1
    if text.startswith("{", at):
        end = _closing(text, at)
        return _braced(text[at + 1 : end], variables), end + 1
    if name := _NAME.match(text, at):
        return variables.get(name.group(), ""), name.end()
    raise ValueError(f"a lone $ in {text!r}; a dollar is written $$")


def _closing(text: str, at: int) -> int:
    depth = 0
    for place in range(at, len(text)):
        depth += (text[place] == "{") - (text[place] == "}")
        if depth == 0:
            return place
    raise ValueError(f"${{ without }} in {text!r}")


def _braced(body: str, variables: Mapping[str, str]) -> str:
    match = _BODY.fullmatch(body)
    if not match:
        raise ValueError(f"${{{body}}} names no variable")
    name, operator, rest = match.groups()
    value = variables.get(name)
    if not operator:
        return value or ""
    there = bool(value) if operator.startswith(":") else value is not None
    if operator.endswith("+"):
        return interpolate(rest, variables) if there else ""
    if there:
        return value or ""
    if operator.endswith("?"):
        raise MissingVariableError(name, interpolate(rest, variables))
    return interpolate(rest, variables)


def dotenv(text: str, environ: Mapping[str, str]) -> dict[str, str]:
    """The variables of a `.env` file; values may use earlier ones and the environment. Raises ValueError."""
    found: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        match = _LINE.fullmatch(line)
        if match:
            found[match.group(1)] = _value(match.group(2), {**found, **environ})
        elif not _NAME.fullmatch(line.strip()):
            raise ValueError(f"line {number} is not NAME=value")
    return found


def _value(text: str, variables: Mapping[str, str]) -> str:
    if text[:1] == "'" and (end := text.find("'", 1)) > 0:
        return text[1:end]
    quoted = re.match(r'"((?:[^"\\]|\\.)*)"', text)
    if quoted:
        plain = re.sub(r"\\(.)", lambda m: _ESCAPES.get(m.group(1), m.group(0)), quoted.group(1))
        return interpolate(plain, variables)
    return interpolate(re.split(r"(?:^|\s)#", text, maxsplit=1)[0].rstrip(), variables)
