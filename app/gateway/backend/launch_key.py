"""Key by which sessions share an upstream process: equal keys are equal launches."""

import hmac
import json
from collections.abc import Mapping, Sequence
from hashlib import sha256

from store.serving import ServerRow

# what changes how a program runs, beside what its own entry sets; hosts differ in the rest
_RELEVANT = (
    "PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TZ", "TMPDIR", "SHELL",
    "VIRTUAL_ENV", "CONDA_PREFIX", "JAVA_HOME", "GOPATH", "DISPLAY", "WAYLAND_DISPLAY",
    "SSH_AUTH_SOCK", "KUBECONFIG", "GOOGLE_APPLICATION_CREDENTIALS",
)  # fmt: skip
_RELEVANT_PREFIXES = (
    "NODE_", "NPM_", "npm_", "PYTHON", "UV_", "PIP_", "LD_", "DYLD_", "DOCKER_", "AWS_", "AZURE_",
    "GITHUB_", "XDG_", "HTTP_", "HTTPS_", "http_", "https_", "NO_PROXY", "no_proxy", "ALL_PROXY",
    "SSL_", "REQUESTS_", "TOOLCRIB_",
)  # fmt: skip


def launch_key(
    row: ServerRow,
    command: Sequence[str],
    environ: Mapping[str, str],
    folder: str,
    *,
    secret: bytes,
) -> str:
    """Hex digits; equal for the same server, command, surroundings and folder.

    Values of variables go in through a digest keyed by `secret`, which lives in memory only.
    """
    relevant = {
        name: hmac.new(secret, value.encode("utf-8", "surrogateescape"), sha256).hexdigest()
        for name, value in environ.items()
        if name in _RELEVANT or name.startswith(_RELEVANT_PREFIXES)
    }
    parts = [row.id, row.name, row.spec, list(command), sorted(relevant.items()), folder]
    return sha256(json.dumps(parts).encode()).hexdigest()
