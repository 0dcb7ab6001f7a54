"""How a server is started or reached, with its secret values, and the same without them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from app.hosts import credentials
from app.secrets import Secrets
from store.records import ServerSpec

STDIO, HTTP, SSE = "stdio", "http", "sse"


@dataclass(frozen=True, slots=True, repr=False)
class LaunchSpec:
    """How a server is started (stdio) or reached (http, sse); holds secret values, never shown."""

    transport: str
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str = ""
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"LaunchSpec({self.masked()})"

    def masked(self) -> str:
        """The command line or URL with credentials masked: safe to show."""
        values: list[str] = []
        if self.transport != STDIO:
            return credentials.mask(credentials.hide_in_url(self.url, values))
        words = [self.command, *credentials.hide_in_args(self.args, values)]
        return credentials.mask(" ".join(_quoted(word) for word in words))

    def to_spec(self, install_key: bytes) -> tuple[ServerSpec, Secrets]:
        """The spec without any secret, and the secrets taken out of it."""
        values: list[str] = []
        args = tuple(credentials.hide_in_args(self.args, values))
        url = credentials.hide_in_url(self.url, values)
        spec = ServerSpec(
            transport=self.transport,
            key=_digest(self, install_key),
            command=self.command,
            args=args,
            env_names=tuple(self.env),
            cwd=self.cwd,
            url=url,
            header_names=tuple(self.headers),
        )
        return spec, Secrets(dict(self.env), dict(self.headers), tuple(values))

    @classmethod
    def from_spec(cls, spec: ServerSpec, secrets: Secrets) -> "LaunchSpec":
        """The launch spec again; a secret that is not in the store becomes empty text."""
        return cls(
            transport=spec.transport,
            command=spec.command,
            args=tuple(credentials.reveal(arg, secrets.values) for arg in spec.args),
            env={name: secrets.env.get(name, "") for name in spec.env_names},
            cwd=spec.cwd,
            url=credentials.reveal(spec.url, secrets.values),
            headers={name: secrets.headers.get(name, "") for name in spec.header_names},
        )


def _quoted(word: str) -> str:
    return json.dumps(word, ensure_ascii=False) if not word or " " in word else word


def _digest(launch: LaunchSpec, install_key: bytes) -> str:
    """HMAC-SHA256 over everything that tells two launches apart, secret values included."""
    import hashlib  # 3.5 MB of libcrypto that the gateway does not need
    import hmac

    parts = [
        launch.transport,
        launch.command,
        list(launch.args),
        sorted(launch.env.items()),
        launch.cwd,
        launch.url,
        sorted(launch.headers.items()),
    ]
    text = json.dumps(parts, ensure_ascii=False, separators=(",", ":"))
    return hmac.new(install_key, text.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()
