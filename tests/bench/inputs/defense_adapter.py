"""Run mcp-defense-bench in front of the real gateway, by the bench's own stdio adapter.

It needs FastMCP 4, which cannot be installed beside Toolcrib's SDK. In an environment with
`mcp-defense-bench[fastmcp]`, from Toolcrib's checkout:

    python tests/bench/inputs/defense_adapter.py TOOLCRIB_PYTHON dev|benign OUT.json

Each fixture's server is added, read and exported as a user does it, in a home of its own; then a
client talks to it through the gateway, and without. Nothing is trusted in Review.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

from mcp_defense_bench import run  # type: ignore[import-not-found]
from mcp_defense_bench.adapters.stdio import (  # type: ignore[import-not-found]
    StdioProxyAdapter,
)

_ROOT = Path(__file__).parents[3]
_MODELS = Path.home() / ".local" / "share" / "toolcrib" / "models"  # exported once before
_SECONDS = 120


def adapter(python: str) -> StdioProxyAdapter:
    """The gateway in the form that one server's entry has."""

    def wrap(server: list[str], work: Path) -> tuple[list[str], dict[str, str]]:
        env = {
            "TOOLCRIB_HOME": str(work / "home"),
            "TOOLCRIB_MODELS": os.environ.get("TOOLCRIB_MODELS", str(_MODELS)),
            "TOOLCRIB_STANDALONE": "1",
            "HOME": str(work),
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(_ROOT),
        }
        file = work / "servers.json"
        entry = {"command": server[0], "args": server[1:]}
        file.write_text(json.dumps({"mcpServers": {"fixture": entry}}), encoding="utf-8")
        add = [python, "-m", "ui.main", "import", str(file), "--scan", "--yes"]
        subprocess.run(add, env=env, cwd=work, capture_output=True, timeout=_SECONDS, check=True)
        words = ["-m", "app.gateway.main", "--profile", "default", "--server", "fixture"]
        return [python, *words], env

    return StdioProxyAdapter("toolcrib", wrap, timeout=_SECONDS)


if __name__ == "__main__":
    toolcrib_python, corpus, out = sys.argv[1:]
    result = run(adapter(toolcrib_python), corpus)
    Path(out).write_text(json.dumps(result, indent=1), encoding="utf-8")
