"""A server with tools that wait for a yes goes behind the gateway: no other program would ask."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "fakes"))

import demo_store

from app.catalog.catalog import load_catalog
from app.core.settings import with_settings
from app.export.wrapping import narrowed_servers
from app.policy.policy_file import parse_policy


@pytest.mark.parametrize(
    ("patterns", "servers"),
    [
        ((), []),
        (("destructive",), ["github"]),
        (("github/merge",), ["github"]),
        (("time/*", "destructive"), ["github", "time"]),
    ],
)
def test_servers_with_such_tools_are_narrowed(
    db: Any, patterns: tuple[str, ...], servers: list[str]
) -> None:
    demo_store.fill(db, demo_store.DEMO[:2])
    seen = load_catalog(db)
    seen = replace(seen, settings=with_settings(seen.settings, {"gateway.approve": patterns}))
    names = {server.id: server.name for server in seen.servers}
    assert sorted(names[one] for one in narrowed_servers(seen)) == servers


def test_a_servers_name_in_a_policy_means_all_of_its_tools() -> None:
    text = b"""version = 1
[tools]
confirm = ["github", "destructive", "a/b"]
[conditions]
github = ["milestone(x)"]
[scopes]
github = ["role:ops"]
"""
    policy = parse_policy(text, "p")
    assert policy.confirm == ("github/*", "destructive", "a/b")
    assert policy.conditions == {"github/*": ["milestone(x)"]}
    assert policy.scopes == {"github/*": ["role:ops"]}
