"""Arguments and variables that the engine does not take. Pure."""

from __future__ import annotations

from kit.diagnostics.pattern import Pattern

PATTERNS: tuple[Pattern, ...] = (
    Pattern(
        r"error: unrecognized arguments: (?P<arguments>[^\n]+)",
        "this version of the engine has no argument {arguments}",
        "look at `args` of the model, or take another image",
    ),
    Pattern(
        r"error: ambiguous option: (?P<option>\S+) could match|error: the following arguments are required: "
        r"(?P<missing>[^\n]+)",
        "the engine's command is not whole: {option}{missing}",
        "write each flag of `args` out in full, and its value as the next item",
    ),
    Pattern(
        r"error: argument (?P<argument>[^\n]+)",
        "the engine does not take an argument: {argument}",
        "look at `args` of the model",
    ),
    Pattern(
        r"invalid (?P<kind>tool call|reasoning) parser: (?P<name>\S+)",
        "this version of the engine has no {kind} parser {name}",
        "look at `args` of the model: the log lists the parsers that it has",
    ),
    Pattern(
        r"--enable-auto-tool-choice requires --tool-call-parser",
        "tools are allowed, and no parser for them is named",
        "write `args: [--enable-auto-tool-choice, --tool-call-parser, NAME]` for the model",
    ),
    Pattern(
        r"VLLM_PORT '(?P<value>[^']+)' appears to be a URI",
        "VLLM_PORT is {value}: an orchestrator made it from a service called vllm",
        "rename that service, or unset VLLM_PORT",
    ),
    Pattern(
        r"Sleep mode is not supported on current platform",
        "the engine cannot sleep here",
        "take --enable-sleep-mode out of `args` of the model",
    ),
    Pattern(
        r"name the same endpoint (?P<url>\S+)",
        "two entries of the router's list have the address {url}",
        "render again: each name needs a host name of its own",
    ),
    Pattern(
        r"launch\.py: (?P<why>[^\n]+)",
        "{why}",
        "`monogpu-kit doctor` looks at the router's key",
    ),
    Pattern(
        r"\[ALERT\][^\n]{0,80}(?P<why>(?:parsing|config|Starting|cannot)[^\n]{1,200})",
        "HAProxy does not take its configuration: {why}",
        "render again; a file that was edited by hand is kept until `monogpu-kit render --force`",
    ),
    Pattern(
        r"validation errors? for \w+\n(?:[^\n]*pid=\d+\)[^\n]*\])?\s*(?:[\w.]+\n[^\n]*?)??(?:Value error, |Assertion "
        r"failed, )?"
        r"(?P<why>[A-Z][^\n\[]{3,300})",
        "vLLM does not take its settings: {why}",
        "look at `args` and `env` of the model, or take another image",
        general=True,
    ),
)
