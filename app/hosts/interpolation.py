"""Variables in host files: which a launch refers to, and filling them in just before a start.

Nothing that is stored or written is ever expanded. `$(...)` is never run.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from app.hosts.launch import LaunchSpec

# ${VAR} ${VAR:-default} ${env:VAR} {env:VAR} ${input:id} ${file:path} {file:path}
_REFERENCE = re.compile(
    r"\$\{\{[^}]*\}\}|\$\{(?P<kind>env|input|file)?:?(?P<name>[A-Za-z_][\w.-]*)"
    r"(?::-(?P<default>[^}]*))?\}|\{(?P<short>env|file):(?P<what>[^}]+)\}"
)
# A bare $VAR counts only as a whole value or after one word (`Bearer $TOKEN`).
_BARE = re.compile(r"^(?P<lead>(?:[A-Za-z]+ )?)\$(?P<name>[A-Za-z_]\w*)$")


def references(launch: LaunchSpec) -> tuple[str, ...]:
    """The variables, inputs and files that a launch refers to, as they are spelled."""
    found = [spelled for text in _texts(launch) for spelled in _spelled(text)]
    return tuple(dict.fromkeys(found))


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
        if match["short"] == "env":
            return environ.get(match["what"], "")
        if match["name"] is None or match["kind"] in ("input", "file"):
            return match[0]
        if match["name"] == "userHome":
            return str(home)
        known = environ.get(match["name"])
        if known is not None:
            return known
        return match["default"] if match["default"] is not None else match[0]

    bare = _BARE.match(text)
    if bare and bare["name"] in environ:
        return bare["lead"] + environ[bare["name"]]
    return _REFERENCE.sub(value, text)


def _spelled(text: str) -> Iterator[str]:
    yield from (match[0] for match in _REFERENCE.finditer(text))
    if bare := _BARE.match(text):
        yield f"${bare['name']}"


def _texts(launch: LaunchSpec) -> Iterator[str]:
    yield from (launch.command, *launch.args, launch.cwd, launch.url)
    yield from (*launch.env.values(), *launch.headers.values())
