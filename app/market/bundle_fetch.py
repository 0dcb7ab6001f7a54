"""Fetching a bundle (.mcpb): bounded, from public addresses, and checked before it is unpacked."""

import hashlib
import tempfile
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit

import httpx2

from app.core.addresses import is_public
from app.core.text import visible
from app.market import guards
from app.market.bundle import NOTHING, Bundle, BundleError, BundleLimits, read_manifest, unpack
from app.market.client import Cut, Resolve, redirected, resolve

_REDIRECTS = (301, 302, 303, 307, 308)
_MOST_REDIRECTS = 5
_PIECE = 1 << 20


def fetched(
    name: str, url: str, sha256: str, folder: Path, *,
    private: bool = False, limits: BundleLimits | None = None, look_up: Resolve = resolve,
) -> Bundle:  # fmt: skip
    """The bundle of an entry, unpacked below a folder; fetched only if it is not there yet."""
    bounds = limits or BundleLimits()
    place = folder / sha256
    if not place.is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        with (
            tempfile.TemporaryDirectory(dir=folder, prefix=".new-") as scratch,
            tempfile.TemporaryFile(dir=scratch) as archive,
        ):
            unpacked = Path(scratch) / "files"
            actual = _Download(name, private, bounds, look_up).save(url, archive)
            if actual != sha256:
                raise BundleError(
                    f"The bundle of {name} has another checksum than its entry says.",
                    f"{NOTHING} It begins with {actual[:12]}, not with {sha256[:12]}.",
                )
            unpack(name, archive, unpacked, bounds)
            read_manifest(name, unpacked)
            unpacked.replace(place)
    return read_manifest(name, place)


class _Download:
    """One GET over public addresses; the checksum decides, so a redirect may leave the host."""

    def __init__(self, name: str, private: bool, limits: BundleLimits, look_up: Resolve) -> None:
        self._name, self._private, self._limits, self._resolve = name, private, limits, look_up

    def save(self, url: str, file: IO[bytes]) -> str:
        """Write the body to a file; its SHA-256."""
        with (
            Cut().after(self._limits.longest) as extensions,
            httpx2.Client(timeout=self._limits.seconds, follow_redirects=False) as client,
        ):
            client.headers["User-Agent"] = "toolcrib"
            for _ in range(_MOST_REDIRECTS + 1):
                self._check(url)
                try:
                    with client.stream("GET", url, extensions=extensions) as response:
                        if response.status_code not in _REDIRECTS:
                            return self._write(response, file)
                        url = redirected(url, response)
                except (httpx2.HTTPError, httpx2.InvalidURL) as error:
                    reason = visible(str(error))[:200] or type(error).__name__
                    raise self._error(f"could not be fetched: {reason}.") from error
        raise self._error("is redirected without end.")

    def _check(self, url: str) -> None:
        problem = guards.url_problem(url, private=self._private)
        if problem:
            raise self._error(f"cannot be fetched: {problem}")
        parts = urlsplit(url)
        try:
            addresses = self._resolve(parts.hostname or "", parts.port or 443)
        except (OSError, UnicodeError) as error:
            raise self._error(f"is at {parts.hostname}, which is not known.") from error
        if not self._private and not all(map(is_public, addresses)):
            raise self._error("is at an address of this machine or its network.")

    def _write(self, response: httpx2.Response, file: IO[bytes]) -> str:
        if response.status_code != 200:
            raise self._error(f"could not be fetched: status {response.status_code}.")
        digest, size = hashlib.sha256(), 0
        for piece in response.iter_raw(_PIECE):
            size += len(piece)
            if size > self._limits.download:
                raise self._error(f"is larger than {self._limits.download >> 20} MB.")
            digest.update(piece)
            file.write(piece)
        return digest.hexdigest()

    def _error(self, what: str) -> BundleError:
        return BundleError(f"The bundle of {self._name} {what}", NOTHING)
