from pathlib import Path

import pytest

from app.core.errors import ToolcribError
from app.core.settings import ProfileSettings, Settings


def test_a_missing_file_gives_the_defaults(tmp_path: Path) -> None:
    assert Settings.load(tmp_path / "settings.toml") == Settings()


def test_only_differences_are_written_and_come_back(tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    Settings(encoding="cl100k_base", scan_seconds=5).save(path)
    assert path.read_text() == 'encoding = "cl100k_base"\nscan_seconds = 5\n'
    assert Settings.load(path) == Settings(encoding="cl100k_base", scan_seconds=5)


@pytest.mark.parametrize(
    ("text", "named"),
    [("encodng = 'x'", "encodng"), ("scan_seconds = 'long'", "scan_seconds"), ("= 1", "read")],
)
def test_a_wrong_file_says_what_is_wrong(tmp_path: Path, text: str, named: str) -> None:
    path = tmp_path / "settings.toml"
    path.write_text(text)
    with pytest.raises(ToolcribError, match=named):
        Settings.load(path)


def test_a_profile_keeps_what_a_newer_version_wrote() -> None:
    stored = {
        "new_tools": "on",
        "servers": ["a"],
        "routing": {"k": 5},
        "gateway": {"loop_exempt": ["x/*"]},
        "later": {"deep": [1]},
    }
    settings = ProfileSettings.from_json(stored)
    assert settings.routing.k == 5
    assert settings.gateway.loop_exempt == ("x/*",)
    again = ProfileSettings.from_json(settings.to_json())
    assert again == settings
    assert again.to_json()["later"] == {"deep": [1]}


def test_defaults_store_nothing() -> None:
    assert ProfileSettings().to_json() == {}
