"""Projects that hosts know by their own files, as far as those have servers of their own."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import unquote, urlsplit

from app.core.errors import ToolcribError
from app.hosts.documents.edits import value_at
from app.hosts.documents.values import read_values
from app.hosts.facts import ProjectList, load_hosts
from app.hosts.places import Places
from app.hosts.reading import read_bytes

_MOST = 500  # folders that are looked into: a host keeps those of years


@dataclass(frozen=True, slots=True)
class KnownProject:
    """A folder, the hosts that know it, and its files that name servers."""

    folder: Path
    hosts: tuple[str, ...]  # names
    files: tuple[Path, ...]


def known_projects(places: Places) -> tuple[KnownProject, ...]:
    """The projects with servers of their own, by folder; files that cannot be read say nothing."""
    hosts: dict[Path, list[str]] = {}
    for facts in load_hosts():
        for one in facts.projects:
            for folder in _folders(places, one):
                if folder in hosts or len(hosts) < _MOST:
                    hosts.setdefault(folder, []).append(facts.name)
    noted = ((folder, names, server_files(places, folder)) for folder, names in hosts.items())
    known = (KnownProject(f, tuple(dict.fromkeys(n)), files) for f, n, files in noted if files)
    return tuple(sorted(known, key=lambda project: str(project.folder)))


def server_files(places: Places, folder: Path) -> tuple[Path, ...]:
    """The files of a folder, below it and not above, that name servers for one of the hosts."""
    seen = replace(places, project=folder)
    kinds = (
        k for h in load_hosts() for k in h.files if (k.scope, k.role) == ("project", "servers")
    )
    files = (path for kind in kinds for path in seen.existing(kind))
    return tuple(dict.fromkeys(path for path in files if path.is_relative_to(folder)))


def _folders(places: Places, one: ProjectList) -> Iterator[Path]:
    templates = one.paths.get(places.system, ())
    for file in places.paths(templates):
        with suppress(ToolcribError):
            for text in _names(read_values(read_bytes(file), one.format).value, one):
                folder = _folder(text)
                if folder is not None and folder != places.home:
                    yield folder


def _names(value: object, one: ProjectList) -> Iterator[str]:
    value = value_at(value, one.at)
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from (key for key in value if isinstance(key, str))


def _folder(text: str) -> Path | None:
    """The folder that a path or a file: URL names, None for one that is not here."""
    with suppress(OSError, ValueError):
        if text.startswith("file:"):
            text = unquote(urlsplit(text).path)
            text = text[1:] if text[2:3] == ":" else text  # /c:/work
        folder = Path(text)
        return folder if folder.is_absolute() and folder.is_dir() else None
    return None
