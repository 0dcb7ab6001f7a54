"""The URLs of Toolcrib's own HTTP endpoint: made, taken apart, recognised."""

from urllib.parse import quote, unquote, urlsplit

LOCAL_NAMES = ("127.0.0.1", "localhost", "[::1]")
_TOP = "mcp"


def path_of(profile: str, server: str = "") -> str:
    """The path under which a profile, or one server of it, is served."""
    parts = [_TOP, profile, *([server] if server else [])]
    return "/" + "/".join(quote(part, safe="") for part in parts)


def target_of(raw_path: bytes) -> tuple[str, str] | None:
    """Profile and server ("" for all) that a path names, None where it is none of ours."""
    try:
        parts = [unquote(part, errors="strict") for part in raw_path.decode("ascii").split("/")]
    except UnicodeDecodeError:
        return None
    if len(parts) not in (3, 4) or parts[0] or parts[1] != _TOP or not all(parts[2:]):
        return None
    return parts[2], parts[3] if len(parts) == 4 else ""


def profile_at(url: str) -> str:
    """The profile that such a URL of ours serves as a whole, whatever the port; else ""."""
    try:
        parts = urlsplit(url.strip())
        local = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
        path = parts.path.encode("ascii", "replace")
    except ValueError:
        return ""
    target = target_of(path) if parts.scheme.lower() == "http" and local in LOCAL_NAMES else None
    return target[0] if target is not None and not target[1] else ""


def is_own_url(url: str, port: int) -> bool:
    """Whether a URL is one of the endpoint that listens on that port of this machine."""
    try:
        parts = urlsplit(url.strip())
        path = parts.path.encode("ascii", "replace")
    except ValueError:
        return False
    local = (f"{name}:{port}" for name in LOCAL_NAMES)
    return (
        parts.scheme.lower() == "http"
        and parts.netloc.rpartition("@")[2].lower() in local
        and target_of(path) is not None
    )
