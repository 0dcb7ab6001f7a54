from app.catalog.catalog import Catalog
from app.core.settings import ProfileSettings
from app.policy.coverage import coverage
from app.policy.usage import Usage
from store.records import ProfileRecord
from tests.app.policy.conftest import Make


def test_servers_stand_by_what_they_cost_and_only_with_what_hosts_get(make: Make) -> None:
    tools = (
        make("a/x", tokens=100),
        make("a/y", tokens=300),
        make("b/z", tokens=900),
        make("c/off", tokens=5_000, on=False),
    )
    catalog = Catalog(ProfileRecord(1, "default", {}), ProfileSettings(), "o200k_base", (), tools)
    first, second = coverage(catalog, Usage(calls={"a/x": 4, "c/off": 9}, last={"a/x": 7.0}))
    assert (first.server, first.tokens, first.unused, first.calls, first.last) == (
        "b",
        900,
        900,
        0,
        0.0,
    )
    assert (second.server, second.tokens, second.unused) == ("a", 400, 300)
    assert [(use.row.tool.name, use.calls, use.last) for use in second.tools] == [
        ("y", 0, 0.0),
        ("x", 4, 7.0),
    ]
    assert [row.tool.name for row in second.never] == ["y"]
