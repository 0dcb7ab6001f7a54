import shlex
from collections.abc import Callable
from typing import Any

import pytest

from app.cli.main import run
from app.cli.profile import changed_settings
from app.core.errors import ToolcribError
from app.core.settings import ProfileSettings


@pytest.mark.parametrize(
    ("name", "text", "group", "value"),
    [
        ("routing.k", "8", "routing", 8),
        ("routing.floor", "1", "routing", 1.0),
        ("routing.name_weight", "3", "routing", 3.0),
        ("gateway.pool", "names", "gateway", "names"),
        ("gateway.loop_exempt", '["a/*"]', "gateway", ("a/*",)),
        ("gateway.promote", "true", "gateway", True),
    ],
)
def test_a_setting_takes_a_value_of_its_type(
    name: str, text: str, group: str, value: object
) -> None:
    changed = changed_settings(ProfileSettings(), name, text)
    assert getattr(getattr(changed, group), name.split(".")[1]) == value


def test_a_setting_of_the_profile_itself() -> None:
    assert changed_settings(ProfileSettings(), "new_tools", "on").new_tools == "on"
    assert changed_settings(ProfileSettings(), "servers", '["a"]').servers == ("a",)


def test_show_names_every_setting_as_set_takes_it(
    verb: Callable[..., Any], capsys: pytest.CaptureFixture[str]
) -> None:
    verb("profile", "set", 'gateway.approve=["github/delete_*"]')
    assert run(["profile", "show"]) == 0
    shown = capsys.readouterr().out.split("profile set:\n")[1].splitlines()
    assert "routing.k=10" in shown and "'gateway.approve=[\"github/delete_*\"]'" in shown
    for line in shown:
        (assignment,) = shlex.split(line)
        assert run(["profile", "set", assignment]) == 0, line
    assert verb("profile", "show")["settings"] == {"gateway": {"approve": ["github/delete_*"]}}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("routing.k", "many"),
        ("routing.k", '"8"'),
        ("routing.k", "true"),
        ("routing.name_weight", "-1"),
        ("routing.server_weight", "11"),
        ("routing.server_weight", "NaN"),
        ("nothing.k", "1"),
        ("routing.nothing", "1"),
        ("other", "{}"),
        ("", "1"),
    ],
)
def test_a_wrong_name_or_value_is_refused(name: str, text: str) -> None:
    with pytest.raises(ToolcribError):
        changed_settings(ProfileSettings(), name, text)
