"""Stores with a few tools, and an encoder that needs no model."""

import importlib.util
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

_FAKES = Path(__file__).parents[2] / "fakes" / "routing_fakes.py"

TOOLS = [
    ("github", "create_issue", "Create a new issue in a repository."),
    ("github", "merge_pull_request", "Merge a pull request into its base branch."),
    ("github", "list_commits", "List the commits of a branch."),
    ("files", "read_file", "Read the complete contents of a file from disk."),
    ("files", "write_file", "Create a file or overwrite it with new contents."),
    ("files", "move_file", "Move or rename files and directories."),
    ("time", "get_current_time", "Get the current time in a timezone."),
    ("slack", "post_message", "Post a message to a channel."),
]


@pytest.fixture(scope="session")
def fakes() -> ModuleType:
    spec = importlib.util.spec_from_file_location("routing_fakes", _FAKES)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["routing_fakes"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def make_router(tmp_path: Path, fakes: ModuleType) -> Iterator[Callable]:
    """Build (router, db, catalog) over a new store; `change` may edit the store before that."""
    from app.catalog.catalog import load_catalog
    from app.ranking.router import Router

    opened = []

    def build(listed=TOOLS, *, encoder=True, settings=None, change=None):
        used = fakes.WordEncoder() if encoder else None
        db, catalog = fakes.filled(tmp_path / f"{len(opened)}.db", listed, used)
        opened.append(db)
        if change:
            change(db)
            catalog = load_catalog(db)
        return Router.from_store(db, catalog, settings, used), db, catalog

    yield build
    for db in opened:
        db.close()
