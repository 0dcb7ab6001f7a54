import pytest

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
