import base64
import logging
import stat
from pathlib import Path

import pytest

from app.core.logs import configure, redact
from app.core.scrubber import Scrubber
from app.core.server_logs import add_lines


def test_known_values_and_likely_credentials_are_blotted_out() -> None:
    text = redact("key=hunter22 ghp_abcdefgh1234 Bearer abc.def.ghi", ["hunter22"])
    assert "hunter22" not in text
    assert "ghp_" not in text
    assert "abc.def" not in text


def test_a_password_inside_a_url_is_blotted_out() -> None:
    assert redact("postgresql://app:pw@db:5432/x") == "postgresql://••••@db:5432/x"


def test_short_values_do_not_blot_out_words() -> None:
    assert redact("a table", ["a"]) == "a table"


@pytest.mark.parametrize("text", ["", "plain words", "https://example.org/path?x=1"])
def test_harmless_text_stays(text: str) -> None:
    assert redact(text) == text


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("s3cret-v4lue", "••••"),
        ("as3cret-v4luez", "••••o="),
        ("abs3cret-v4lue", "Y••••"),
        ("abs3cret-v4luez", "Y••••6"),
    ],
)
def test_a_value_in_base64_goes_with_the_characters_that_share_its_bits(
    text: str, left: str
) -> None:
    coded = base64.b64encode(text.encode()).decode()
    hidden = Scrubber(["s3cret-v4lue"]).text(f"x = {coded}; y: {coded}. end")
    assert hidden == f"x = {left}; y: {left}. end"


def test_the_log_file_is_redacted(tmp_path: Path) -> None:
    handler = configure(tmp_path / "logs")
    try:
        logging.getLogger("toolcrib.test").info("token %s", "glpat-abcdefghijkl")
    finally:
        logging.getLogger("toolcrib").removeHandler(handler)
        handler.close()
    written = (tmp_path / "logs" / "toolcrib.log").read_text()
    assert "token ••••" in written


def test_folders_of_ours_are_for_their_owner_alone(tmp_path: Path) -> None:
    add_lines(tmp_path / "home" / "logs", "github", ["a line"])
    configure(tmp_path / "other" / "logs").close()
    made = [folder for folder in tmp_path.rglob("*") if folder.is_dir()]
    assert len(made) == 5
    assert {stat.S_IMODE(folder.stat().st_mode) for folder in made} == {0o700}


def test_an_open_folder_of_an_earlier_version_is_closed(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir(mode=0o755)
    add_lines(logs, "github", ["a line"])
    assert stat.S_IMODE(logs.stat().st_mode) == 0o700
