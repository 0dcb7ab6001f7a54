"""Paths of a host's files on one machine: templates of hosts.toml turned into paths."""

import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from app.core.errors import ToolcribError
from app.hosts.facts import HostFile

_FIELD = re.compile(r"\{([A-Za-z_]+)(?:\|([A-Za-z_]+)([^{}]*))?\}")
_ALTERNATIVES = re.compile(r"\{([^{}|]*,[^{}|]*)\}")
_DEFAULTS = {
    "APPDATA": "AppData/Roaming",
    "LOCALAPPDATA": "AppData/Local",
}
_DEEPEST = 6  # levels below a plugin folder
_PACKAGE_TREES = frozenset({"node_modules", ".git", ".venv", "__pycache__"})


@dataclass(frozen=True, slots=True)
class Places:
    """Home, environment, system and project that path templates are resolved against."""

    home: Path
    environ: Mapping[str, str]
    system: str  # linux | macos | windows
    project: Path | None = None
    root: Path | None = None  # what absolute templates are put under (tests); None = the machine

    @classmethod
    def here(cls, project: Path | None = None, environ: Mapping[str, str] = os.environ) -> "Places":
        """This machine and this user; ToolcribError when there is no such project folder."""
        if project is not None:
            project = project.absolute()  # what is written is remembered by its path
            if not project.is_dir():
                raise ToolcribError(f"There is no folder {project}.", "Name the project's folder.")
        system = {"darwin": "macos", "win32": "windows"}.get(sys.platform, "linux")
        home = environ.get("USERPROFILE" if system == "windows" else "HOME")
        return cls(Path(home) if home else Path.home(), environ, system, project)

    def candidates(self, file: HostFile) -> tuple[Path, ...]:
        """Every path this kind of file can have here, existing or not, best first."""
        paths = list(self.paths(file.override)[:1] or self.paths(file.paths.get(self.system, ())))
        paths += self.paths(file.extra)
        if file.parents and self.project is not None:
            paths += [folder / path.name for path in paths for folder in self._above(self.project)]
        return tuple(dict.fromkeys(paths))

    def existing(self, file: HostFile) -> tuple[Path, ...]:
        """The paths of this kind of file that exist here."""
        return tuple(path for path in self.candidates(file) if is_file(path))

    def outside(self, path: Path) -> Path | None:
        """Real path of a project's file, when links lead out of the folder that it is of."""
        folder = self.project if self.project and path.is_relative_to(self.project) else path.parent
        real = Path(os.path.realpath(path))
        return None if real.is_relative_to(os.path.realpath(folder)) else real

    def paths(self, templates: tuple[str, ...]) -> tuple[Path, ...]:
        """The paths of bare templates; none for an unset variable."""
        return tuple(path for template in templates for path in self._expand(template))

    def _expand(self, template: str) -> Iterator[Path]:
        for choice in _alternatives(template):
            filled = self._fill(choice)
            if filled is None:
                continue
            text = filled.replace("\\", "/")
            if self.root is not None and not choice.startswith("{"):
                text = f"{self.root}/{text.replace(':', '').lstrip('/')}"
            yield from _globbed(Path(text)) if "*" in choice else (Path(text),)

    def _above(self, project: Path) -> Iterator[Path]:
        """Folders above the project, up to the home folder or the root, exclusive."""
        for folder in project.parents:
            if folder == self.home or folder == folder.parent:
                return
            yield folder

    def _fill(self, template: str) -> str | None:
        missing = False

        def value(match: re.Match[str]) -> str:
            nonlocal missing
            name, fallback, rest = match[1], match[2], match[3] or ""
            text = self._variable(name)
            if text is None and fallback is not None:
                base = self._variable(fallback)
                text = None if base is None else base + rest
            if text is None:
                missing = True
            return text or ""

        filled = _FIELD.sub(value, template)
        return None if missing else filled

    def _variable(self, name: str) -> str | None:
        if name == "HOME":
            return str(self.home)
        if name == "PROJECT":
            return None if self.project is None else str(self.project)
        if value := self.environ.get(name):
            return str(self.home) + value[1:] if value.startswith("~") else value
        if name in _DEFAULTS:
            return str(self.home / _DEFAULTS[name])
        return "C:/ProgramData" if name == "ProgramData" else None


def is_file(path: Path) -> bool:
    """True if this is a file; False in a folder that may not be read."""
    try:
        return path.is_file()
    except OSError:
        return False


def first_there(paths: Sequence[Path]) -> Path:
    """The first of these paths that is a file, or simply the first."""
    return next((path for path in paths if is_file(path)), paths[0])


def _alternatives(text: str) -> Iterator[str]:
    match = _ALTERNATIVES.search(text)
    if match is None:
        yield text
        return
    for choice in match[1].split(","):
        yield from _alternatives(text[: match.start()] + choice + text[match.end() :])


def _globbed(path: Path) -> Iterator[Path]:
    """Paths that match; what follows the last wildcard need not exist."""
    parts = path.parts
    wild = [index for index, part in enumerate(parts) if "*" in part]
    base = Path(*parts[: wild[0]])
    if "**" in parts:
        tree = parts.index("**")
        for folder in _folders(Path(*parts[:tree])):
            if is_file(file := folder.joinpath(*parts[tree + 1 :])):
                yield file
        return
    pattern, tail = "/".join(parts[wild[0] : wild[-1] + 1]), parts[wild[-1] + 1 :]
    for match in sorted(base.glob(pattern)):
        yield match.joinpath(*tail)


def _folders(base: Path) -> Iterator[Path]:
    """The folder and those below it, a few levels deep, without package trees."""
    for root, names, _files in os.walk(base):
        folder = Path(root)
        yield folder
        deep = len(folder.parts) - len(base.parts) >= _DEEPEST
        names[:] = [] if deep else sorted(name for name in names if name not in _PACKAGE_TREES)
