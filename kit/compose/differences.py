"""What changed in a command, in words: the flags whose values differ, not the whole of it. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

MOST = 4  # differences that are named


def command_words(before: Sequence[str], after: Sequence[str]) -> str:
    """`--max-model-len 1024 -> 512, + --enforce-eager`; "" when the words are the same or nothing was known before."""
    if not before:
        return ""
    old, new = flags(before), flags(after)
    said = list(_differences(old, new))
    more = [f"and {len(said) - MOST} more"] if len(said) > MOST else []
    return ", ".join([*said[:MOST], *more])


def _differences(old: dict[str, str], new: dict[str, str]) -> Iterator[str]:
    for flag in dict.fromkeys((*old, *new)):
        before, after = old.get(flag), new.get(flag)
        if before is None:
            yield f"+ {flag} {after}".rstrip()
        elif after is None:
            yield f"- {flag} {before}".rstrip()
        elif before != after:
            yield f"{flag} {before} -> {after}".lstrip()


def flags(command: Sequence[str]) -> dict[str, str]:
    """Flag -> its values in one text; what stands before the first flag is under ""."""
    found: dict[str, list[str]] = {}
    flag = ""
    for word in command:
        if word.startswith("--"):
            flag = word
            found.setdefault(flag, [])
        else:
            found.setdefault(flag, []).append(word)
    return {flag: " ".join(values) for flag, values in found.items()}
