"""What `up` shows while it works: a spinner on a terminal, a line for each event in a log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kit.compose.events import Did, Event, Failed, Kept, Pulling, Ready, Retrying, Started, Waiting
from kit.units import size

if TYPE_CHECKING:
    from rich.console import Console

EVERY = 15.0


class Watcher:
    """Call it with every event. On a terminal, waiting is a spinner that says for what, for how long, how long it took
    last time, and the last line of the worker's log; elsewhere a line every 15 seconds."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.live = console.status("checking what runs") if console.is_terminal else None
        self.printed: dict[str, float] = {}

    def __enter__(self) -> Watcher:
        if self.live:
            self.live.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self.live:
            self.live.stop()

    def __call__(self, event: Event) -> None:
        text = line(event)
        if isinstance(event, Waiting | Pulling):
            self._passing(event, text)
        elif text:
            self.console.print(text, markup=False)

    def _passing(self, event: Waiting | Pulling, text: str) -> None:
        if self.live:
            from rich.text import Text

            self.live.update(Text(text, overflow="ellipsis", no_wrap=True))
            return
        key = f"{event.service} {event.state}" if isinstance(event, Waiting) else event.image
        at = event.seconds if isinstance(event, Waiting) else float(event.done >> 27) * EVERY
        if key not in self.printed or at - self.printed[key] >= EVERY:
            self.printed[key] = at
            self.console.print(text, markup=False, no_wrap=True, overflow="ellipsis")


def line(event: Event) -> str:
    """An event as a line of text; "" for one that is not shown."""
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
            return f"  {service}: transient failure, restart {restarts}: {cause}"
        case Ready(service, seconds, state):
            return f"✓ {service} is {state} after {seconds:.0f} s"
        case Failed(service, what):
            return f"✗ {service}: {what}"


def _waiting(event: Waiting) -> str:
    usual = f", {event.usual:.0f} s last time" if event.usual else ""
    said = f": {event.line.strip()}" if event.line.strip() else ""
    return f"  waiting for {event.service} ({event.state}, {event.seconds:.0f} s{usual}){said}"
