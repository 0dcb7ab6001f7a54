"""Installed Claude Desktop extensions (.mcpb, .dxt): their manifest as a launch spec.

Source: anthropics/mcpb MANIFEST.md, manifest versions 0.1 to 0.4.
"""

import contextlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from app.core.errors import ToolcribError
from app.hosts.documents.values import read_values
from app.hosts.entries import EntryView
from app.hosts.launch import STDIO, LaunchSpec
from store.typed import Json, JsonMapping

_VARIABLE = re.compile(r"\$\{([^}]{1,400})\}")
_PLATFORMS = {"windows": "win32", "macos": "darwin", "linux": "linux"}
_FOLDERS = {"DESKTOP": "Desktop", "DOCUMENTS": "Documents", "DOWNLOADS": "Downloads"}


def view_extension(manifest: Any, folder: Path, home: Path, system: str) -> EntryView:
    """The extension's launch spec; its settings are beside its folder."""
    server = manifest.get("server") if isinstance(manifest, Mapping) else None
    config = server.get("mcp_config") if isinstance(server, Mapping) else None
    if not isinstance(config, Mapping) or not isinstance(config.get("command"), str):
        return EntryView(None, problem="The extension's manifest names no command.")
    overrides = config.get("platform_overrides", {})
    special = overrides.get(_PLATFORMS[system], {}) if isinstance(overrides, Mapping) else {}
    config = {**config, **special}
    settings = _settings(folder)
    variables = _Variables(folder, home, system, _chosen(manifest, settings))
    args = [text for arg in config.get("args", ()) for text in variables.expand(str(arg))]
    env = {str(k): variables.text(str(v)) for k, v in config.get("env", {}).items()}
    launch = LaunchSpec(STDIO, variables.text(config["command"]), tuple(args), env)
    missing = ", ".join(sorted(variables.missing))
    problem = f"Claude Desktop keeps {missing} encrypted or it is not set." if missing else ""
    return EntryView(launch, settings.get("isEnabled") is False, problem)


class _Variables:
    """Fills the variables of a manifest and remembers those without a value."""

    def __init__(self, folder: Path, home: Path, system: str, chosen: JsonMapping) -> None:
        self.missing: set[str] = set()
        separator = "\\" if system == "windows" else "/"
        self._fixed = {"__dirname": str(folder), "HOME": str(home)}
        self._fixed |= {"/": separator, "pathSeparator": separator}
        self._fixed |= {name: str(home / part) for name, part in _FOLDERS.items()}
        self._chosen = chosen

    def expand(self, text: str) -> Iterator[str]:
        """The argument; a setting with several values gives several arguments."""
        match = _VARIABLE.fullmatch(text)
        key = match[1].removeprefix("user_config.") if match else ""
        value = self._chosen.get(key) if match and match[1].startswith("user_config.") else None
        if isinstance(value, list):
            yield from (self.text(str(item)) for item in value)
        else:
            yield self.text(text)

    def text(self, text: str) -> str:
        """The text with its variables filled in; an unknown one stays as it is."""
        return _VARIABLE.sub(self._value, text)

    def _value(self, match: re.Match[str]) -> str:
        name = match[1]
        if name in self._fixed:
            return self._fixed[name]
        key = name.removeprefix("user_config.")
        if key == name:
            return match[0]
        value = self._chosen.get(key)
        if value is None:
            self.missing.add(key)
            return match[0]
        if isinstance(value, bool):
            return str(value).lower()
        return self.text(str(value)) if f"${{{name}}}" not in str(value) else str(value)


def _settings(folder: Path) -> JsonMapping:
    path = folder.parent.parent / "Claude Extensions Settings" / f"{folder.name}.json"
    with contextlib.suppress(OSError, ToolcribError):
        value = read_values(path.read_bytes(), "json").value
        return value if isinstance(value, Mapping) else {}
    return {}


def _chosen(manifest: JsonMapping, settings: JsonMapping) -> Json:
    declared = manifest.get("user_config", {})
    defaults = {
        key: item["default"]
        for key, item in declared.items()
        if isinstance(item, Mapping) and item.get("default") is not None
    }
    given = settings.get("userConfig", {})
    return {**defaults, **(given if isinstance(given, Mapping) else {})}
