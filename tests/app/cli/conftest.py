import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest

from app.cli.main import run
from app.core.context import AppContext
from store.connection import transaction

BOTH = {name: {"command": name} for name in ("github", "files")}
CURSOR = json.dumps({"mcpServers": BOTH}) + "\n"


@pytest.fixture
def verb(
    ctx: AppContext,
    db: apsw.Connection,
    add_server: Callable[..., int],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> Callable[..., Any]:
    """Runs a verb over a store with two servers; gives its JSON document."""
    add_server("github", "create_issue", "list_issues")
    add_server("files", "read_file", trusted=False)
    home = tmp_path / "home"
    (home / ".cursor").mkdir(parents=True)
    (home / ".cursor" / "mcp.json").write_text(CURSOR)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("TOOLCRIB_HOME", str(ctx.paths.home))
    with transaction(db):
        db.execute(
            "UPDATE entries SET file = ?",
            (str(home / ".cursor" / "mcp.json"),),
        )

    def call(*argv: str, code: int = 0) -> Any:
        capsys.readouterr()
        cut = argv.index("--") if "--" in argv else len(argv)
        assert run([*argv[:cut], "--json", *argv[cut:]]) == code, capsys.readouterr().err
        text = capsys.readouterr().out
        return json.loads(text) if text else None

    return call
