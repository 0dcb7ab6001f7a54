"""What experiments find below a data folder: query sets by name, and catalogues of real tools."""

import json
from collections.abc import Sequence
from pathlib import Path

from app.core.errors import ToolcribError
from tests.bench.data.sets import SetTool


def read_catalogue(file: Path) -> tuple[SetTool, ...]:
    """The tools of a JSONL file whose lines hold a server's package and its tools."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
        servers = [json.loads(line) for line in lines if line.strip()]
        return tuple(
            SetTool(str(server["package"]), str(tool["name"]), tool)
            for server in servers
            for tool in server["tools"]
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ToolcribError(
            f"{file} cannot be read as a catalogue: {error!r}.",
            'Each line needs {"package": NAME, "tools": [...]}.',
        ) from error


def find_folder(data: Path, names: Sequence[str]) -> Path:
    """The first folder of these names that holds a query set; raises ToolcribError."""
    folders = {file.parent.name: file.parent for file in sorted(data.rglob("catalogue.jsonl"))}
    for name in names:
        if name in folders:
            return folders[name]
    known = ", ".join(folders) or "none"
    raise ToolcribError(
        f"There is no query set {' or '.join(names)} below {data}.", f"Found: {known}."
    )
