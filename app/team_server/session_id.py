"""Session ids of 2025-11-25 that any replica can go on with: signed, and held nowhere."""

import hashlib
import time

import jwt

_SECONDS = 24 * 3600
_LONGEST = 2_048
_CONTEXT = b"toolcrib session 1\0"
_ALGORITHM = "HS256"


class SessionIds:
    """Makes and checks session ids with the key that all replicas share."""

    def __init__(self, key: bytes) -> None:
        self._key = hashlib.sha256(_CONTEXT + key).digest()

    def make(self, member: str, profile: str) -> str:
        """The id of a session that begins now."""
        claims = {"sub": member, "aud": _audience(profile), "exp": int(time.time()) + _SECONDS}
        return jwt.encode(claims, self._key, _ALGORITHM)

    def opens(self, text: str, member: str, profile: str) -> bool:
        """True for the id of a session of this member at this profile that has not ended."""
        try:
            jwt.decode(
                text[:_LONGEST],
                self._key,
                algorithms=[_ALGORITHM],
                subject=member,
                audience=_audience(profile),
                options={"require": ["exp", "sub", "aud"]},
            )
        except (jwt.PyJWTError, ValueError, RecursionError):
            return False
        return True


def _audience(profile: str) -> str:
    """The claim of a profile, "" among them: the library takes no empty one."""
    return f"profile {profile}"
