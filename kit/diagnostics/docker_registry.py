"""Registries and the way to them: names, logins, certificates, broken downloads. Pure."""

from __future__ import annotations

from kit.diagnostics.pattern import Pattern

_LOAD = "or `docker load` the image"

PATTERNS: tuple[Pattern, ...] = (
    Pattern(
        r"x509: certificate has expired or is not yet valid",
        "the registry's certificate is not valid at this machine's time",
        "look at `date` first: a wrong clock is the usual reason; else its owner must renew it",
    ),
    Pattern(
        r"x509: (?P<why>certificate signed by unknown authority|certificate is (?:valid for|not valid)[^\n]{0,120}"
        r"|cannot validate certificate[^\n]{0,120}|certificate relies on legacy[^\n]{0,60})"
        r"|tls: failed to verify certificate(?!: x509)",
        "Docker does not trust the registry's certificate: a proxy that opens TLS is in between, or the registry's own "
        "authority is not installed",
        "put the authority's certificate into /etc/docker/certs.d/REGISTRY/ca.crt, or into the system's and restart "
        "Docker",
    ),
    Pattern(
        r"server gave HTTP response to HTTPS client|tls: first record does not look like a TLS handshake",
        "the registry speaks plain HTTP, and Docker asks for HTTPS",
        "add it to `insecure-registries` in daemon.json, if you trust the network to it",
    ),
    Pattern(
        r"error getting credentials|docker-credential-\S+[^\n]{0,40}(?:not found|exit status)",
        "the program that keeps Docker's logins does not work",
        "take `credsStore` out of ~/.docker/config.json, then `docker login` again",
    ),
    Pattern(
        r"toomanyrequests|[Rr]ate limit|429 Too Many Requests(?! for url)",
        "the registry limits the rate of downloads",
        "`docker login`, or wait",
    ),
    Pattern(
        r"unauthorized: |no basic auth credentials|pull access denied|denied: requested access|denied: denied"
        r"|authentication required|denied: (?:permission_denied|installation not allowed|access forbidden)[^\n]*"
        r"|error from registry: denied|insufficient_scope"
        r"|not allowed to pull",
        "the registry has no such image, or it is private",
        "look at the image's name; a private one needs `docker login`",
    ),
    Pattern(
        r"(?:Get|Head) .https?://[^\s]+: Forbidden|403 Forbidden",
        "the registry, or a proxy before it, refuses this machine",
        "look at the proxy's rules, or take the image from a mirror: `registry-mirrors` in daemon.json",
        unless=r"huggingface|hf\.co|gated",
    ),
    Pattern(
        r"manifest unknown|manifest for \S+ not found|not found: manifest|failed to resolve reference [^\n]{0,200}: "
        r"not found",
        "the registry has no such tag",
        "look at the image's tag",
    ),
    Pattern(
        r"invalid reference format|repository name [^\n]{0,80}must be lowercase|invalid (?:checksum digest|tag) format",
        "the image's name is not a valid one",
        "look at `image`: lower case, REGISTRY/NAME:TAG",
    ),
    Pattern(
        r"no matching manifest for (?P<platform>[^\s,]+)|no match for platform in manifest"
        r'|image operating system "(?P<system>[^"]+)" cannot be used',
        "the image is not made for {platform}{system}, this machine's platform",
        "take another image: `image:`",
    ),
    Pattern(
        r"unsupported manifest media type|schema ?1[^\n]{0,80}(?:deprecated|no longer supported|removed)"
        r"|mediaType in manifest should be|[Uu]nsupported media type",
        "the image is stored in a format that this Docker does not take",
        "update Docker, or take a newer tag of the image",
    ),
    Pattern(
        r"filesystem layer verification failed|failed size validation|unexpected commit digest"
        r"|content digest \S+: not found|(?:blob|layer) \S* ?(?:does not exist|not found)"
        r"|digest mismatch, file must be downloaded again|invalid tar header|failed to register layer: "
        r"[^\n]{0,120}unexpected EOF",
        "a part of the image arrived or was stored damaged",
        "pull again; if it stays so, `docker image prune`, and look at a proxy in between and at the disk",
        retryable=True,
    ),
    Pattern(
        r"proxyconnect|Proxy Authentication Required",
        "the proxy that Docker is set to cannot be used",
        "look at Docker's proxy settings: `docker info | grep -i proxy`, /etc/systemd/system/docker.service.d",
        unless=r"ProxyError",
    ),
    Pattern(
        r"lookup \S+(?: on \S+)?: (?:no such host|server misbehaving|Temporary failure|i/o timeout)"
        r"|lookup \S+ on \S+: (?:read|dial) udp|no such host",
        "the registry cannot be reached: its name cannot be resolved",
        f"look at the network and its DNS (/etc/resolv.conf, `dns` in daemon.json), {_LOAD}",
    ),
    Pattern(
        r"unexpected (?:HTTP )?status(?: code)?(?: from)?[^\n]{0,200}?\b5\d\d\b|error parsing HTTP 5\d\d response",
        "the registry, or a proxy before it, has a fault",
        "try again in some minutes; the registry's status page says more",
        retryable=True,
    ),
    Pattern(
        r'(?:Get|Head|Post) "?https?://[^\n]{0,400}(?:context deadline exceeded|request canceled|TLS handshake timeout'
        r"|Client\.Timeout|i/o timeout|connection re(?:fused|set)|network is unreachable|no route to host|EOF)"
        r"|dial tcp [^\n]{0,200}(?:refused|timeout|unreachable|no route)|net/http: (?:TLS handshake timeout|request "
        r"canceled)"
        r"|read tcp [^\n]{0,200}(?:reset by peer|timed out|timeout)",
        "the registry cannot be reached, or the connection to it broke",
        f"look at the network and at Docker's proxy settings, {_LOAD}; a pull goes on with the layers that are here",
        retryable=True,
        unless=r"proxyconnect|lookup ",
    ),
    Pattern(
        r"(?:max retries exceeded: |^|: )(?:unexpected )?EOF\s*$",
        "the connection broke before all of the answer was there",
        "try again: a download goes on with what is here; a proxy or a full disk in between cuts it at the same place",
        retryable=True,
        unless=r"(?:Get|Head|Post) ",
    ),
    Pattern(
        r"[Nn]o such image",
        "the image is not on this machine",
        "`up` pulls it; was it removed just now?",
    ),
)
