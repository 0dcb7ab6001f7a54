"""The URLs of Toolcrib's own HTTP endpoint: made, taken apart, recognised."""

from collections.abc import Sequence
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

LOCAL_NAMES = ("127.0.0.1", "localhost", "[::1]")
_TOP = "mcp"
_TEAM = "toolcrib"  # in the query of a team gateway's URL: the profile here that it is of
_BEHIND = "servers"  # in the query: the only servers of the profile that this URL reaches
_MOST_FIELDS = 8  # of a query


def path_of(profile: str, behind: Sequence[str] | None) -> str:
    """The path under which a profile, or some servers of it, is served."""
    path = f"/{_TOP}/{quote(profile, safe='')}"
    return path if behind is None else f"{path}?{_BEHIND}={quote(','.join(behind), safe='')}"


def target_of(raw_path: bytes) -> tuple[str, str] | None:
    """Profile and server ("" for all) in a path, None for a path of another form."""
    try:
        parts = [unquote(part, errors="strict") for part in raw_path.decode("ascii").split("/")]
    except UnicodeDecodeError:
        return None
    if len(parts) not in (3, 4) or parts[0] or parts[1] != _TOP or not all(parts[2:]):
        return None
    return parts[2], parts[3] if len(parts) == 4 else ""


def behind_of(query: str) -> tuple[str, ...] | None:
    """The servers to which a URL's query narrows a profile; None where it names none.

    Raises ValueError for a query that cannot be read one way only.
    """
    fields = parse_qsl(query, keep_blank_values=True, max_num_fields=_MOST_FIELDS, errors="strict")
    lists = [value for name, value in fields if name == _BEHIND]
    if len(lists) > 1:
        raise ValueError("The query names its servers twice.")
    return tuple(filter(None, lists[0].split(","))) if lists else None


def behind_at(url: str) -> tuple[str, ...] | None:
    """The servers in the query of a whole URL; none for one that cannot be read."""
    try:
        return behind_of(urlsplit(url.strip()).query)
    except ValueError:
        return ()


def profile_at(url: str) -> str:
    """The profile in a URL of the endpoint, whatever the port; "" for another URL."""
    try:
        parts = urlsplit(url.strip())
        local = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
        path = parts.path.encode("ascii", "replace")
    except ValueError:
        return ""
    target = target_of(path) if parts.scheme.lower() == "http" and local in LOCAL_NAMES else None
    return target[0] if target is not None and not target[1] else ""


def team_query(profile: str, behind: Sequence[str]) -> str:
    """The query that makes a team gateway's URL known again in a host's file."""
    return urlencode({_TEAM: profile, _BEHIND: ",".join(behind)}, quote_via=quote, safe="")


def team_profile_at(url: str) -> str:
    """The profile in a team gateway's URL as Toolcrib writes it; "" for another URL."""
    try:
        fields = parse_qsl(urlsplit(url.strip()).query, max_num_fields=_MOST_FIELDS)
    except ValueError:
        return ""
    return dict(fields).get(_TEAM, "")


def is_own_url(url: str, port: int) -> bool:
    """True if a URL belongs to the endpoint that listens on that port of this machine."""
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
