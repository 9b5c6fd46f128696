"""What `up` shows while it works: one line that lives on a terminal, one line an event in a log."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING

from kit.compose.events import Did, Event, Failed, Kept, Pulling, Ready, Retrying, Started, Waiting
from kit.units import size

if TYPE_CHECKING:
    from rich.console import Console
    from rich.status import Status

EVERY = 15.0


class Watcher:
    """Call it with every event. On a terminal, waiting is a spinner that says for what, for how long, how long it took
    last time, and the worker's latest words; elsewhere a line every 15 seconds."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.live: Status | None = None
        self.said: dict[str, float] = {}

    def __enter__(self) -> Watcher:
        if self.console.is_terminal:
            self.live = self.console.status("looking at what runs")
            self.live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.live:
            self.live.stop()

    def __call__(self, event: Event) -> None:
        if isinstance(event, Waiting | Pulling):
            self._passing(event)
            return
        words = line(event)
        if words:
            self.console.print(words, markup=False)

    def _passing(self, event: Waiting | Pulling) -> None:
        words = line(event)
        if self.live:
            from rich.text import Text

            self.live.update(Text(words, overflow="ellipsis", no_wrap=True))
            return
        key = f"{event.service} {event.state}" if isinstance(event, Waiting) else event.image
        at = event.seconds if isinstance(event, Waiting) else float(event.done >> 27) * EVERY
        if key not in self.said or at - self.said[key] >= EVERY:
            self.said[key] = at
            self.console.print(words, markup=False, no_wrap=True, overflow="ellipsis")


def line(event: Event) -> str:
    """An event in words; "" for what nobody needs to read."""
    match event:
        case Pulling(image, done, total):
            return f"  pulling {image}" + (f": {size(done)} of {size(total)}" if total else "")
        case Did(verb, name, cause):
            return f"  {verb} {name}" + (f": {cause}" if cause else "")
        case Kept(service, _):
            return f"  keep {service}"
        case Started(service, verb, cause):
            return f"  {verb} {service}: {cause}"
        case Waiting():
            return _waiting(event)
        case Retrying(service, restarts, cause):
            return f"  {service} failed in a way that passes, start {restarts + 1}: {cause}"
        case Ready(service, seconds, state):
            return f"✓ {service} is {state} after {seconds:.0f} s"
        case Failed(service, what):
            return f"✗ {service}: {what}"


def _waiting(event: Waiting) -> str:
    usual = f", {event.usual:.0f} s last time" if event.usual else ""
    said = f": {event.line.strip()}" if event.line.strip() else ""
    return f"  waiting for {event.service} ({event.state}, {event.seconds:.0f} s{usual}){said}"
