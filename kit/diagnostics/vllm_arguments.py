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
        r"error: argument (?P<argument>[^\n]+)",
        "the engine does not take an argument: {argument}",
        "look at `args` of the model",
    ),
    Pattern(
        r"max_num_batched_tokens \((?P<tokens>\d+)\) must be greater than or equal to max_num_seqs "
        r"\((?P<requests>\d+)\)",
        "{requests} requests at the same time need at least as many batched tokens, and there are {tokens}",
        "write a smaller `requests` for the model",
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
)
