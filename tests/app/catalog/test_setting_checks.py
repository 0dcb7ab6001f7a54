"""Settings are checked where they are set, with the key and what is allowed."""

from collections.abc import Callable

import apsw
import pytest

from app.catalog import catalog
from app.catalog.setting_checks import unusable
from app.core.errors import ToolcribError
from app.core.settings import ProfileSettings


@pytest.mark.parametrize(
    ("key", "value", "allowed"),
    [
        ("preconditions", {"tracker/create_issue": ["authenticated"]}, "authenticated(scope)"),
        ("preconditions", ["after(x)"], "tool pattern"),
        ("scopes", {"git/*": []}, "no principal is allowed git/*"),
        ("gateway.pool", "everything", "servers, names, all, none"),
        ("gateway.slim", "most", "none, lossless, strong"),
        ("gateway.call_seconds", -1, "whole number"),
        ("gateway.promote", "yes", "true or false"),
        ("routing.theta", float("nan"), "number"),
        ("routing.cut", "both", "relative, theta"),
        ("routing.name_weight", 11.0, "0 to 10"),
        ("new_tools", "maybe", "held, on"),
        ("servers", "github", "list of servers"),
    ],
)
def test_a_value_that_cannot_be_is_refused_with_its_key_and_what_is_allowed(
    db: apsw.Connection, key: str, value: object, allowed: str
) -> None:
    with pytest.raises(ToolcribError) as caught:
        catalog.change_settings(db, "default", {key: value})
    assert caught.value.title.startswith(f"{key} cannot be ")
    assert allowed in caught.value.hint
    assert catalog.load_catalog(db).settings == ProfileSettings()


def test_an_old_mistake_keeps_nobody_from_changing_another_setting(
    db: apsw.Connection, add_server: Callable[..., int]
) -> None:
    add_server("git", "push")
    db.execute("""UPDATE profiles SET settings = '{"preconditions": {"git/*": ["soon"]}}'""")
    catalog.change_settings(db, "default", {"routing.k": 3})
    assert catalog.load_catalog(db).settings.routing.k == 3


@pytest.mark.parametrize(
    ("stored", "told"),
    [
        ({"gateway": {"search_tokens": "many"}}, "gateway.search_tokens cannot be 'many'"),
        ({"gateway": 5}, "gateway is no table"),
        ({"routing": {"cut": "both"}}, "routing.cut cannot be 'both'. Allowed: relative, theta."),
        ({"gateway": {"pool": "names"}, "of_tomorrow": 1}, ""),
    ],
)
def test_stored_settings_that_cannot_be_are_named_and_not_used(stored: dict, told: str) -> None:
    assert told in " ".join(unusable(stored)) and bool(unusable(stored)) == bool(told)
    settings = ProfileSettings.from_json(stored)
    assert settings.gateway.search_tokens == ProfileSettings().gateway.search_tokens
