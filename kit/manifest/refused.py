"""Why a value of the manifest is refused, before its place is known."""

from __future__ import annotations


class Refused(ValueError):
    """`what` is wrong, what was `needed`, a `hint`. With `secret` the value must not be shown; `at_word`: what is wrong
    is the word rather than its value."""

    def __init__(
        self, what: str, needed: str = "", hint: str = "", *, secret: bool = False, at_word: bool = False
    ) -> None:
        super().__init__(what)
        self.what = what
        self.needed = needed
        self.hint = hint
        self.secret = secret
        self.at_word = at_word
