"""Hugging Face: licences, tokens, names and the network. Pure."""

from __future__ import annotations

from kit.diagnostics.pattern import Pattern

PATTERNS: tuple[Pattern, ...] = (
    Pattern(
        r"Access to model (?P<repo>\S+) is restricted[^\n]{0,400}not in the authorized list",
        "{repo} is gated, and this token's account has no access to it",
        "accept its licence on https://huggingface.co/{repo}, with the account that HF_TOKEN belongs to",
    ),
    Pattern(
        r"gated repo|Access to model (?P<repo>\S+) is restricted|403 Client Error[^\n]{0,400}huggingface",
        "the model is gated: Hugging Face wants its licence accepted, and a token",
        "accept the licence on the model's page, then export HF_TOKEN",
    ),
    Pattern(
        r"401 Client Error[^\n]{0,400}huggingface\.co/api/whoami|Invalid user token|Invalid username or password"
        r"|Invalid credentials in Authorization header|401 Client Error: Unauthorized for url: https://huggingface",
        "Hugging Face does not take the token",
        "export HF_TOKEN with a token that is valid and may read",
    ),
    Pattern(
        r"RepositoryNotFoundError|Repository Not Found|is not a local folder and is not a valid model identifier",
        "Hugging Face has no such model, or hides it from this token",
        "look at `source` of the model; a private one needs HF_TOKEN",
    ),
    Pattern(
        r"Invalid rev id|RevisionNotFoundError|Revision Not Found",
        "the model has no such revision",
        "look at what follows the @ in `source`",
    ),
    Pattern(
        r"429 Client Error|Too Many Requests for url: https://huggingface",
        "Hugging Face limits the rate of requests from this machine",
        "wait some minutes; with HF_TOKEN set the limit is higher",
        retryable=True,
    ),
    Pattern(
        r"Temporary failure in name resolution|Connection reset by peer|Read timed out|Max retries exceeded with url"
        r"|CAS service error",
        "the connection to Hugging Face broke",
        "look at the network; the next start resumes the download",
        retryable=True,
    ),
    Pattern(
        r"OfflineModeIsEnabled|LocalEntryNotFoundError|outgoing traffic has been disabled"
        r"|[Cc](?:ouldn't|annot) connect to '?https://huggingface\.co|Can't load the configuration of '",
        "the model's files are not here, and Hugging Face cannot be reached",
        "look at the network and at the log of the download service, or give a folder as `source`",
    ),
)
