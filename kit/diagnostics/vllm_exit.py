"""Messages about the end of a process: matched last, since the cause mostly stands above them. Pure."""

from __future__ import annotations

from kit.diagnostics.pattern import Pattern

PATTERNS: tuple[Pattern, ...] = (
    Pattern(
        r"(?:Engine core proc|Worker proc) (?P<name>\S+) died unexpectedly(?: \(exit code: (?P<code>-?\d+)\))?",
        "vLLM's process {name} ended without a message (exit code {code}): it was killed",
        "`dmesg | tail` says whether the host ran out of memory; if it did not, report it to vLLM",
        general=True,
    ),
    Pattern(
        r"signal: killed|[Ss]ignal \(?9\b|SIGKILL|exit ?code:? -9\b|exit status 137|^Killed\s*$",
        "it was killed: by the kernel when the host runs out of memory, or by `docker kill`",
        "`dmesg | tail` says which; give the host more memory, or start fewer workers",
        general=True,
    ),
    Pattern(
        r"[Ss]egmentation fault|SIGSEGV|[Ss]ignal \(?11\b|exit ?code:? -11\b|exit status 139",
        "the program crashed (SIGSEGV)",
        "take another image, and report it to the engine's makers; `dmesg | tail` names the library",
        general=True,
    ),
    Pattern(
        r"signal: aborted|SIGABRT|[Ss]ignal \(?6\b|exit ?code:? -6\b|terminate called after throwing|^Aborted",
        "the program aborted (SIGABRT)",
        "its log says why above this line; take another image if it says nothing",
        general=True,
    ),
    Pattern(
        r"engine core exited unexpectedly|EngineDeadError: EngineCore encountered an issue",
        "vLLM's engine process ended while it served, and the server ended with it",
        "the log says why above this; if it says nothing, it was killed: `dmesg | tail`",
        general=True,
    ),
    Pattern(
        r"Engine core initialization failed|WorkerProc initialization failed|Engine process failed to start"
        r"|llama runner process (?:has terminated|no longer running)",
        "the engine's process failed at its start; the reason stands above this line",
        "read further up: `monogpu-kit logs NAME --tail 1000`",
        general=True,
    ),
    Pattern(
        r"[Ss]ignal \(?15\b|SIGTERM|signal: terminated|^Terminated\s*$",
        "it was asked to end (SIGTERM): by `docker stop`, `down` or an update, not by a fault of its own",
        "nothing, if you stopped it; else `docker events` names what did, and the log above says what it did until "
        "then",
        general=True,
        unless=r"\[shutdown\]",
    ),
    Pattern(
        r"scaling factor (?:of )?1\.0 for fp8|no scaling factors? (?:provided|found)",
        "only a warning: the checkpoint has no scales for an fp8 KV cache, and 1.0 is used, which may cost accuracy",
        "nothing has to be done; without `--kv-cache-dtype fp8` in `args`, the cache is exact and twice as large",
        general=True,
    ),
)
