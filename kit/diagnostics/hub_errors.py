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
        r"enable access to public gated repositories|awaiting a review from the repo authors"
        r"|fine-grained token[^\n]{0,80}(?:permission|access)",
        "the token may not read gated models yet: its settings lack the permission, or the owner has not answered",
        "on https://huggingface.co/settings/tokens allow 'read access to public gated repositories'; or wait for the "
        "owner",
    ),
    Pattern(
        r"gated repo|Access to model (?P<repo>\S+) is restricted|403 Client Error[^\n]{0,400}huggingface",
        "the model is gated: Hugging Face wants its licence accepted, and a token",
        "accept the licence on the model's page, then export HF_TOKEN",
        unless=r"enable access to public gated|awaiting a review",
    ),
    Pattern(
        r"LocalTokenNotFoundError|401 Client Error[^\n]{0,400}huggingface\.co/api/whoami|Invalid user token|Invalid "
        r"username or password"
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
        r"HFValidationError: [^\n]*?'(?P<path>[^'\n]+)'\.?\s*(?:Use |$)|HFValidationError: [^\n]*: '(?P<name>[^'\n]+)'",
        "{path}{name} is no folder in the container, and no Hugging Face id",
        "look at `source` and `volumes` of the model",
    ),
    Pattern(
        r"CERTIFICATE_VERIFY_FAILED|SSLCertVerificationError|certificate verify failed|unable to get local issuer"
        r"|self[- ]signed certificate|invalid peer certificate|CertificateError: hostname",
        "the container does not trust the certificate that it was shown: a proxy that opens TLS is in between, or the "
        "clock is wrong",
        "mount the authority's certificate and name it: `volumes: "
        "[/etc/ssl/certs/ca-certificates.crt:/data/ca.crt:ro]`, "
        "`env: {SSL_CERT_FILE: /data/ca.crt, REQUESTS_CA_BUNDLE: /data/ca.crt}`; or download on the host and give the "
        "folder as `source`",
    ),
    Pattern(
        r"ProxyError|Cannot connect to proxy|407 Proxy Authentication|Tunnel connection failed|WRONG_VERSION_NUMBER"
        r"|SOCKSHTTP|Missing dependencies for SOCKS",
        "the proxy that `env` names cannot be used",
        "look at HTTPS_PROXY and NO_PROXY: its address begins with http:// even for HTTPS",
    ),
    Pattern(
        r"'?hf_transfer'? package is not available|HF_HUB_ENABLE_HF_TRANSFER=1[^\n]{0,80}not",
        "`env` asks for hf_transfer, which the image does not have",
        "take HF_HUB_ENABLE_HF_TRANSFER out of `env`; hf_xet, which is there, is as fast",
    ),
    Pattern(
        r"Internal Writer Error|Background writer channel closed|File reconstruction error(?![^\n]*CAS)",
        "Hugging Face's downloader (hf_xet) could not write what it received: the disk is full, over its quota, or not "
        "writable",
        "`docker system df`; if there is room, `env: {HF_HUB_DISABLE_XET: '1'}` for the model downloads without it",
    ),
    Pattern(
        r"Consistency check failed|416 Client Error|Requested Range Not Satisfiable",
        "a file arrived damaged, or half of it was from another version",
        "start again: the file is fetched again; if it stays so, remove *.incomplete from the huggingface volume",
        retryable=True,
    ),
    Pattern(
        r"file lock [^\n]{0,200}could not be acquired|filelock[^\n]{0,40}Timeout|Still waiting to acquire lock",
        "another process holds the lock on this model's files: a second download, or one that was killed",
        "wait for it; else `monogpu-kit down`, and remove the *.lock files of the huggingface volume",
        retryable=True,
    ),
    Pattern(
        r"Temporary failure in name resolution|Name or service not known|No address associated with hostname"
        r"|NameResolutionError|Connection reset by peer|Read timed out|Max retries exceeded with url|CAS service error"
        r"|(?:httpx|httpcore)\.\w*(?:Timeout|ConnectError|RemoteProtocolError|ReadError)|ConnectTimeout"
        r"|\[Errno 110\] Connection timed out|Remote end closed connection|IncompleteRead|ChunkedEncodingError"
        r"|Connection aborted|UNEXPECTED_EOF_WHILE_READING|Server disconnected without|5\d\d Server Error[^\n]{0,80} "
        r"for url"
        r"|50[0234] [A-Z][\w ]+ for url|Network is unreachable",
        "the connection to Hugging Face broke",
        "look at the network; the next start resumes the download",
        retryable=True,
        unless=r"ProxyError|Proxy Authentication|CERTIFICATE_VERIFY|certificate verify|gai error|c10d|[Gg]loo|NCCL",
    ),
    Pattern(
        r"OfflineModeIsEnabled|LocalEntryNotFoundError|outgoing traffic has been disabled"
        r"|[Cc](?:ouldn't|annot) connect to '?https://huggingface\.co|Can't load the configuration of '",
        "the model's files are not here, and Hugging Face cannot be reached",
        "look at the network and at the log of the download service, or give a folder as `source`",
    ),
)
