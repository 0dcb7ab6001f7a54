"""Rights that a sign-in asks for, and what a server says that it lacks (RFC 6750 section 3.1)."""

import re

_MOST = 2_000  # characters of all scopes together; a server is a stranger
_WORD = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]+\Z")  # RFC 6749 section 3.3
_SCOPE = re.compile(r'(?<![\w-])scope\s*=\s*(?:"([^"]*)"|([^\s,"]+))', re.IGNORECASE)
_LACKING = re.compile(r'(?<![\w-])error\s*=\s*"?insufficient_scope(?![\w-])', re.IGNORECASE)


def lacking(challenge: str) -> str | None:
    """The scopes that a WWW-Authenticate header says are lacking, None when it says no such thing.

    "" where it does not name them.
    """
    return asked(challenge) if _LACKING.search(challenge) else None


def asked(challenge: str) -> str:
    """The scopes that a WWW-Authenticate header names."""
    found = _SCOPE.search(challenge)
    return union((found[1] or found[2] or "") if found else "")


def asking_for(challenge: str, scopes: str) -> str:
    """The header with these scopes besides its own."""
    both = f'scope="{union(asked(challenge), scopes)}"'
    if _SCOPE.search(challenge):
        return _SCOPE.sub(lambda _found: both, challenge, count=1)
    return f"{challenge}, {both}" if " " in challenge else f"{challenge} {both}"


def union(*scopes: str) -> str:
    """All scopes, each once, in their order; what is no scope is left out."""
    kept: list[str] = []
    for word in " ".join(scopes).split():
        if _WORD.match(word) and word not in kept and len(" ".join([*kept, word])) <= _MOST:
            kept.append(word)
    return " ".join(kept)
