"""Refusals of what an entry names: identifiers, versions, options, places it is fetched from.

An entry's words become a command line and addresses. Nothing of it reaches a shell, and yet an
option as an identifier, a URL as a package or another index would run what the list does not name.
"""

import re
from collections.abc import Sequence
from urllib.parse import urlsplit

from app.core.addresses import is_public
from app.core.text import visible
from app.market.entry import Package, Remote

KINDS = ("npm", "pypi", "oci", "nuget", "mcpb")
_IDENTIFIERS = {
    "npm": re.compile(r"(?:@[a-z0-9_~][a-z0-9._~-]*/)?[a-z0-9_~][a-z0-9._~-]*", re.I),
    "pypi": re.compile(r"[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?", re.I),
    "nuget": re.compile(r"[a-z0-9_](?:[a-z0-9._-]*[a-z0-9_])?", re.I),
    "oci": re.compile(
        r"(?P<host>[a-z0-9.-]{1,100}(?::[0-9]{1,5})?)(?:/[a-z0-9._-]{1,80}){1,5}"
        r"(?::[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127})?(?:@sha256:[0-9a-f]{64})?"
    ),
}
_VERSION = re.compile(r"v?[0-9][0-9A-Za-z.+!_-]*")
_REQUIREMENT = re.compile(
    r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?(?:\[[A-Za-z0-9,_-]+\])?"
    r"(?:(?:[<>=!~]=|[<>])[0-9A-Za-z.*+!]+(?:,(?:[<>=!~]=|[<>])[0-9A-Za-z.*+!]+)*)?"
)
_SHA256 = re.compile(r"[0-9a-f]{64}")
_LONGEST = 300
_BASES = {
    "npm": ("https://registry.npmjs.org",),
    "pypi": ("https://pypi.org",),
    "nuget": ("https://api.nuget.org", "https://api.nuget.org/v3/index.json"),
    "oci": ("https://docker.io", "https://ghcr.io"),
    "mcpb": ("https://github.com", "https://gitlab.com"),
}
_IMAGES = ("docker.io", "ghcr.io", "quay.io", "mcr.microsoft.com", "index.docker.io")
_IMAGE_ENDS = (".pkg.dev", ".azurecr.io", ".amazonaws.com")
# Options of a runtime that an entry may use, and those of them that take the next word. Any other
# could fetch from elsewhere, run a text as a command or take the walls of a container down, and a
# word that belongs to no option would be in the place of the package's name.
_FLAGS = {
    "npx": ("-y", "--yes", "-q", "--quiet", "--prefer-offline", "--offline", "--ignore-scripts"),
    "uvx": (
        "-q",
        "--quiet",
        "--offline",
        "--no-cache",
        "--no-progress",
        "--no-build",
        "--isolated",
    ),
    "docker": ("-i", "-t", "-it", "-ti", "--interactive", "--tty", "--rm", "--init", "--read-only"),
    "dnx": ("-y", "--yes"),
}
_VALUED = {
    "npx": (),
    "uvx": ("--python", "-p", "--from", "--with"),
    "docker": ("-e", "--env", "-v", "--volume", "--mount", "-p", "--publish", "--name", "--network",
               "--net", "--platform", "-u", "--user", "-w", "--workdir", "--memory", "-m", "--cpus",
               "--tmpfs", "--add-host", "--label", "-l", "--pull", "--shm-size", "--cap-drop"),
    "dnx": (),
}  # fmt: skip
_SOCKET = "docker.sock"
_CONFUSED = str.maketrans("01l5", "oiis")


def package_problem(package: Package, *, private: bool) -> str:
    """The reason not to use a package, a sentence; "" where there is none.

    `private` where the user's own list names it: its bundles may be in the user's network.
    """
    kind, identifier = package.kind, package.identifier
    if kind not in KINDS:
        return f"Toolcrib does not know how to start packages of the kind “{_shown(kind)}”."
    if not identifier:
        return "It names no package."
    if len(identifier) > _LONGEST or identifier.startswith("-"):
        return f"“{_shown(identifier)}” would be read as an option, not as a package."
    if kind == "mcpb":
        return _bundle_problem(package, private)
    match = _IDENTIFIERS[kind].fullmatch(identifier)
    if match is None:
        return f"“{_shown(identifier)}” is no name of a {kind} package."
    base = package.base_url.rstrip("/")
    if base and base not in _BASES[kind]:
        return f"It is fetched from {_shown(base)}, not from {_BASES[kind][0]}."
    return _image_problem(package, match["host"]) if kind == "oci" else _version_problem(package)


def _version_problem(package: Package) -> str:
    version = package.version
    if not version or version.lower() == "latest":
        return f"It pins no version of {package.identifier}: what runs could change any day."
    if len(version) > 80 or not _VERSION.fullmatch(version):
        return f"“{_shown(version)}” is no version of {package.identifier}."
    return ""


def _image_problem(package: Package, host: str) -> str:
    name = host.partition(":")[0]
    if name not in _IMAGES and not name.endswith(_IMAGE_ENDS):
        return f"The image comes from {_shown(host)}, which is no public registry of images."
    tag = package.identifier.partition("/")[2].partition("@")
    if not tag[2] and ":" not in tag[0] and not package.version:
        return "It pins no version of the image: what runs could change any day."
    return ""


def _bundle_problem(package: Package, private: bool) -> str:
    problem = url_problem(package.identifier, private=private)
    if problem:
        return problem
    if not private and not package.identifier.startswith("https://"):
        return "The bundle is fetched without encryption."
    if not _SHA256.fullmatch(package.sha256):
        return "The entry gives no checksum of the bundle, so that it cannot be checked."
    return ""


def words_problem(runtime: str, words: Sequence[str], package: str) -> str:
    """The reason not to give a runtime these words of an entry, a sentence; "" for none.

    `package` is the package with its version, as `uvx --from` may name it.
    """
    valued = _VALUED.get(runtime, ())
    is_value, before = False, ""
    for word in words:
        if before == "--from" and word != package:
            return f"It fetches “{_shown(word)}” instead of {package}."
        if before == "--with" and not _REQUIREMENT.fullmatch(word):
            return f"It fetches “{_shown(word)}”, which is no package of {_BASES['pypi'][0]}."
        option, equals, _value = word.partition("=")
        known = word in _FLAGS.get(runtime, ()) or option in valued
        if not is_value and not known:
            return f"It gives {runtime} “{_shown(word)}”, which can run something else."
        before = word if not is_value else ""
        is_value = not is_value and not equals and word in valued
        if option in ("--from", "--with") and equals:
            return f"It gives {runtime} “{_shown(word)}”, which can run something else."
        if runtime == "docker" and (_SOCKET in word or _mounts_all(word)):
            return f"It gives the container “{_shown(word)}”: that is the whole machine."
    return "An option lacks its value." if is_value else ""


def plain_words_problem(words: Sequence[str]) -> str:
    """The reason not to put words on a command line at all, a sentence; "" for none."""
    if any(not char.isprintable() for word in words for char in word):
        return "An argument holds a line break or a character that is not drawn."
    return "An argument is too long." if any(len(word) > 8_000 for word in words) else ""


def _mounts_all(word: str) -> bool:
    value = word.partition("=")[2] if word.startswith("-") else word
    value = re.sub("/+", "/", value)
    return value.startswith("/:") or "src=/," in word or "source=/," in word


def remote_problem(remote: Remote, *, private: bool) -> str:
    """The reason not to use a URL of an entry; `private` where the user's own list names it."""
    if remote.transport not in ("streamable-http", "sse"):
        return f"Toolcrib does not speak “{_shown(remote.transport)}”."
    return url_problem(remote.url, private=private)


def started_problem(package: Package) -> str:
    """The reason not to start a package that then answers at a URL; its values may be missing."""
    if package.kind not in ("npm", "pypi"):
        return "It answers at a URL once it is started: start it yourself, and add the URL."
    if package.transport.headers:
        return "It answers at a URL and wants headers: start it yourself, and add the URL."
    if package.transport.transport not in ("streamable-http", "sse"):
        return f"Toolcrib does not speak “{_shown(package.transport.transport)}”."
    return own_url_problem(re.sub(r"\{[\w.-]{1,60}\}", "1", package.transport.url))


def own_url_problem(url: str) -> str:
    """The reason that a URL is none at which a started package answers on this machine alone."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        return f"“{_shown(url)}” is no URL."
    own = host in ("localhost", "127.0.0.1", "::1") and parts.scheme == "http" and bool(port)
    odd = "@" in parts.netloc or re.search(r"[\s\x00-\x20\\{}]", url)
    return "" if own and not odd else f"“{_shown(url)}” is no address of this machine with a port."


def source_problem(url: str, *, private: bool) -> str:
    """The reason not to use a URL as a source, a sentence; "" for none."""
    if "?" in url or "#" in url or "{" in url:
        return "A source's URL is its base, without a query."
    return url_problem(url, private=private)


def url_problem(url: str, *, private: bool) -> str:
    """The reason not to call a URL, a sentence; "" for none. It may hold variables."""
    plain = re.sub(r"\{[\w.-]{1,60}\}", "x", url)
    try:
        parts = urlsplit(plain)
        host, _port = parts.hostname, parts.port
    except ValueError:
        return f"“{_shown(url)}” is no URL."
    if len(url) > 2_000 or not host or re.search(r"[\s\x00-\x20\\]", url):
        return f"“{_shown(url)}” is no URL."
    if parts.scheme not in ("https", "http"):
        return f"“{_shown(url)}” is not called over HTTP."
    if parts.username is not None or parts.password is not None:
        return "The URL holds a user name or a password."
    if re.match(r"[a-z]+://[^/?#]*\{", url, re.I) and not re.match(
        r"https://[^/?#{]*\{[\w.-]+\}\.[a-z0-9.-]+\.[a-z]{2,}(?:[/:?#]|$)", url, re.I
    ):
        return "A variable decides which host is called."
    if not private and is_private(host):
        return f"{_shown(host)} is an address of this machine or its network."
    if not private and parts.scheme != "https":
        return f"{_shown(host)} is called without encryption."
    return ""


def is_private(host: str) -> bool:
    """True if a host's name says that it is this machine or a network of it."""
    name = host.rstrip(".").lower()
    if name == "localhost" or name.endswith((".localhost", ".local", ".internal", ".lan", ".home")):
        return True
    if re.fullmatch(r"(?:0x[0-9a-f]+|[0-9]+)(?:\.(?:0x[0-9a-f]+|[0-9]+)){0,3}", name):
        return _is_odd_number(name) or not is_public(name)
    return ":" in name and not is_public(name)


def _is_odd_number(name: str) -> bool:
    """True if it is an address in another spelling than four decimal numbers."""
    parts = name.split(".")
    return len(parts) != 4 or any(part.startswith("0") and part != "0" for part in parts)


def skeleton(name: str) -> str:
    """A name as an eye in a hurry reads it: names with one skeleton can be taken for each other."""
    flat = name.lower().replace("rn", "m").replace("vv", "w").translate(_CONFUSED)
    return re.sub(r"[._-]+", "-", flat)


def _shown(text: str) -> str:
    """A stranger's text inside a sentence."""
    return visible(text[:80])
