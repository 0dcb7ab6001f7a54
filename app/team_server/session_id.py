"""Session ids of 2025-11-25 that any replica can go on with: signed, and held nowhere."""

import base64
import binascii
import hashlib
import hmac
import json
import time
from dataclasses import dataclass

_SECONDS = 24 * 3600.0
_LONGEST = 2_048
_CONTEXT = b"toolcrib session 1\0"


@dataclass(frozen=True, slots=True)
class SessionState:
    """Everything that a session of that revision needs."""

    member: str
    profile: str
    version: str
    began: float


class SessionIds:
    """Makes and reads session ids with the key that all replicas share."""

    def __init__(self, key: bytes) -> None:
        self._key = hashlib.sha256(_CONTEXT + key).digest()

    def make(self, member: str, profile: str, version: str) -> str:
        """The id of a session that begins now."""
        state = [member, profile, version, round(time.time(), 3)]
        body = json.dumps(state, separators=(",", ":")).encode()
        return _text(body) + "." + _text(self._mac(body))

    def read(self, text: str, member: str, profile: str) -> SessionState | None:
        """State of a session of this member at this profile; None for any other id."""
        body_text, _, mac_text = text[:_LONGEST].partition(".")
        try:
            body, mac = _bytes(body_text), _bytes(mac_text)
        except (binascii.Error, ValueError):
            return None
        if not hmac.compare_digest(mac, self._mac(body)):
            return None
        state = SessionState(*json.loads(body))
        ours = state.member == member and state.profile == profile
        return state if ours and time.time() - state.began < _SECONDS else None

    def _mac(self, body: bytes) -> bytes:
        return hmac.new(self._key, body, hashlib.sha256).digest()[:24]


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _bytes(text: str) -> bytes:
    data = base64.urlsafe_b64decode((text + "=" * (-len(text) % 4)).encode("ascii"))
    if _text(data) != text:
        raise ValueError("not written as we write it")
    return data
