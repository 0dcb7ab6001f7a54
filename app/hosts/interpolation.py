"""Variables in host files: which a launch refers to, and filling them in just before a start.

Nothing that is stored or written is ever expanded. `$(...)` is never run.
"""

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from app.hosts.launch import LaunchSpec

# ${VAR} ${VAR:-default} ${env:VAR} {env:VAR} ${input:id} ${file:path} {file:path}
_REFERENCE = re.compile(
    r"\$\{\{[^}]{0,400}\}\}|\{\{[^}]{0,400}\}\}|\$\([^)]{0,400}\)"
    r"|\$\{(?P<kind>env:|input:|file:)?(?P<name>[A-Za-z_/~.][^}:]{0,400})(?::-(?P<default>[^}]{0,400}))?\}"
    r"|\{(?P<short>env|file):(?P<what>[^}]{1,400})\}"
)
# A bare $VAR counts only as a whole value or after one word (`Bearer $TOKEN`).
_BARE = re.compile(r"^(?P<lead>(?:[A-Za-z]+ )?)\$(?P<name>[A-Za-z_]\w*)$")
# Names that hosts fill in from what they know themselves.
_HOSTS_OWN = ("workspaceFolder", "workspaceFolderBasename", "CLAUDE_PROJECT_DIR", "config")


def variables(launch: LaunchSpec) -> dict[str, str]:
    """Environment variables that a launch refers to, each as it is spelled there."""
    spellings: dict[str, str] = {}
    for text in _texts(launch):
        if bare := _BARE.match(text):
            spellings.setdefault(bare["name"], f"${bare['name']}")
        for match in _REFERENCE.finditer(text):
            if name := _variable(match):
                spellings.setdefault(name, match[0])
    return spellings


def only_host_fills(launch: LaunchSpec) -> tuple[str, ...]:
    """References that only the host can fill in: inputs, files, commands, its own folders."""
    references = [
        match[0]
        for text in _texts(launch)
        for match in _REFERENCE.finditer(text)
        if not _variable(match) and match["name"] not in ("userHome", "/", "pathSeparator")
    ]
    return tuple(dict.fromkeys(references))


def _variable(match: re.Match[str]) -> str:
    """The name of the environment variable that is meant, "" for anything else."""
    if match["short"] == "env":
        return match["what"]
    name = match["name"]
    if name is None or match["kind"] not in (None, "env:") or name in _HOSTS_OWN:
        return ""
    return name if re.fullmatch(r"[A-Za-z_]\w*", name) and name != "userHome" else ""


def expand(launch: LaunchSpec, environ: Mapping[str, str], home: Path) -> LaunchSpec:
    """The launch with its variables filled in; what is not known stays as it is spelled."""

    def filled(text: str) -> str:
        return expand_text(text, environ, home)

    return replace(
        launch,
        command=filled(launch.command),
        args=tuple(map(filled, launch.args)),
        env={name: filled(value) for name, value in launch.env.items()},
        cwd=filled(launch.cwd),
        url=filled(launch.url),
        headers={name: filled(value) for name, value in launch.headers.items()},
    )


def expand_text(text: str, environ: Mapping[str, str], home: Path) -> str:
    """The text with its variables filled in."""

    def value(match: re.Match[str]) -> str:
        if match["name"] == "userHome":
            return str(home)
        if match["name"] in ("/", "pathSeparator"):
            return os.sep
        name = _variable(match)
        if not name:
            return match[0]
        known = environ.get(name)
        if known is None:
            known = match["default"] if match["short"] is None else ""
        return match[0] if known is None else known

    bare = _BARE.match(text)
    if bare and bare["name"] in environ:
        return bare["lead"] + environ[bare["name"]]
    return _REFERENCE.sub(value, text)


def _texts(launch: LaunchSpec) -> Iterator[str]:
    yield from (launch.command, *launch.args, launch.cwd, launch.url)
    yield from (*launch.env.values(), *launch.headers.values())
