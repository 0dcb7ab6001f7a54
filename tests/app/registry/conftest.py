"""The misbehaving server as a launch spec, and quick limits."""

import importlib.util
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import apsw
import pytest

from app.core.context import AppContext
from app.hosts.launch import STDIO, LaunchSpec
from app.indexing.reading import Limits
from app.registry.probe import ProbeOptions
from app.registry.register import Target
from app.secrets.secret_store import install_key
from store import servers
from store.connection import transaction
from store.records import EntryRecord

FAKE = Path(__file__).parents[2] / "fakes" / "fake_server.py"
MakeFake = Callable[..., LaunchSpec]
MakeTargets = Callable[..., list[Target]]
ServeWeb = Callable[..., AbstractContextManager[Any]]


@pytest.fixture
def fake() -> MakeFake:
    """A launch spec of tests/fakes/fake_server.py: fake("junk,tools=5", API_KEY="x")."""

    def make(mode: str = "", **env: str) -> LaunchSpec:
        given = {"FAKE_MODE": mode, **env}
        return LaunchSpec(STDIO, sys.executable, ("-S", "-E", str(FAKE)), env=given)

    return make


@pytest.fixture
def quick() -> ProbeOptions:
    """Limits for servers that are meant to fail."""
    limits = Limits(
        quiet_seconds=1.0, total_seconds=8.0, extras_seconds=0.4, grace_seconds=0.3, tools=200
    )
    return ProbeOptions(limits)


@pytest.fixture
def serve() -> ServeWeb:
    """tests/fakes/fake_web.py: `with serve("sse", token="Bearer x") as web: web.url`."""
    spec = importlib.util.spec_from_file_location("fake_web", FAKE.with_name("fake_web.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found: ServeWeb = module.serve
    return found


@pytest.fixture
def make_targets(ctx: AppContext, db: apsw.Connection) -> MakeTargets:
    """Targets of launch specs, registered as if by hand: make_targets(one=fake("junk"))."""

    def make(**launches: LaunchSpec) -> list[Target]:
        key = install_key(ctx.paths)
        with transaction(db):
            for name, launch in launches.items():
                entry = EntryRecord("manual", "manual", "", name)
                spec, _ = launch.to_spec(key)
                servers.place(db, entry, spec, name=name, trusted=True)
        ids = {server.name: server for server in servers.all_servers(db)}
        return [
            Target(ids[n].id, n, launch, str(ids[n].taken_with.get("era", "legacy")))
            for n, launch in launches.items()
        ]

    return make
