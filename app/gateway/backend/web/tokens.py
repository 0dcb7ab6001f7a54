"""The bearer tokens of the HTTP endpoint: one a URL, all made of one secret in the secret store."""

import hmac
import secrets
from hashlib import sha256

from app.core.paths import Paths
from app.system.secrets import SecretStore

_KEY = "http endpoint"  # in the secret store
_FIELD = "secret"
_LEAST = 32  # characters


def endpoint_secret(paths: Paths) -> str:
    """What every token is made of, made at the first call; raises ToolcribError."""
    store = SecretStore.open(paths)
    with store.alone(_KEY):
        kept = store.read(_KEY)
        secret = str(kept.get(_FIELD, "")) if isinstance(kept, dict) else ""
        return secret if len(secret) >= _LEAST else _renewed(store)


def renew_secret(paths: Paths) -> None:
    """Make every token that was given out worthless; raises ToolcribError."""
    store = SecretStore.open(paths)
    with store.alone(_KEY):
        _renewed(store)


def _renewed(store: SecretStore) -> str:
    secret = secrets.token_hex(32)
    store.write(_KEY, {_FIELD: secret})
    return secret


def token_of(secret: str, profile: str) -> str:
    """The token that opens one profile's URLs, and no other's."""
    return hmac.new(secret.encode(), b"profile\0" + profile.encode(), sha256).hexdigest()
