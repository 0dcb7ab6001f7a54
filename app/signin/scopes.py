"""Rights that a sign-in asks for, and what a server says that it lacks (RFC 6750 section 3.1)."""

import re

_MOST = 2_000  # characters of all scopes together; a server is a stranger
_WORD = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]+\Z")  # RFC 6749 section 3.3
_SCOPE = re.compile(r'(?:^|[\s,])scope\s*=\s*(?:"([^"]*)"|([^\s,"]+))', re.IGNORECASE)
_OTHERS = re.compile(r'(?<![\w-])(?!scope\s*=)[\w-]+\s*=\s*"[^"]*"', re.IGNORECASE)
_LACKING = re.compile(r'(?<![\w-])error\s*=\s*"?insufficient_scope(?![\w-])', re.IGNORECASE)


def lacking(challenge: str) -> str | None:
    """The scopes that a WWW-Authenticate header says are lacking, None when it says no such thing.

    "" where it does not name them.
    """
    return challenge_scopes(challenge) if _LACKING.search(challenge) else None


def challenge_scopes(challenge: str) -> str:
    """The scopes that a WWW-Authenticate header names."""
    # what other parameters quote may look like one
    match = _SCOPE.search(_OTHERS.sub("", challenge))
    return union((match[1] or match[2] or "") if match else "")


def asking_for(challenge: str, scopes: str) -> str:
    """The header with these scopes besides its own."""
    scheme, _, rest = (challenge.strip() or "Bearer").partition(" ")
    others = _OTHERS.findall(rest)
    return f"{scheme} " + ", ".join(
        [*others, f'scope="{union(challenge_scopes(challenge), scopes)}"']
    )


def union(*scopes: str) -> str:
    """All scopes, each once, in their order; what is no scope is left out, and what is too much."""
    kept: dict[str, None] = {}
    size = 0
    for text in scopes:
        for word in text[: 2 * _MOST].split():
            if _WORD.match(word) and word not in kept and size + len(word) < _MOST:
                kept[word] = None
                size += len(word) + 1
    return " ".join(kept)
