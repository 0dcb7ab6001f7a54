"""Words of a command survive each system's way; Windows' own readers are simulated here."""

import shlex
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.errors import ToolcribError
from app.system.quoting import cmd_line, joined, quoted, split, started_by_cmd

# all that the shells and readers treat in their own ways, and letters
WORDS = st.lists(st.text(alphabet="ab ü\"'\\&|<>^%!()$`;,*?=~\t", max_size=12), max_size=5)
SHELL = r"C:\Windows\System32\cmd.exe"


def heard_by_cmd(line: str) -> str:
    """The command that cmd.exe makes of a line: quotation marks and carets, nothing left over."""
    start = f'"{SHELL}" /d /s /c "'
    assert line.startswith(start) and line.endswith('"')
    made, escaped, in_quotes = "", False, False
    for char in line[len(start) : -1]:
        if escaped:
            made, escaped = made + char, False
        elif char == "^" and not in_quotes:
            escaped = True
        else:
            in_quotes ^= char == '"'
            assert in_quotes or char not in "&|<>()%", "cmd.exe would act on it"
            made += char
    assert not escaped and not in_quotes
    return made


@given(WORDS)
def test_words_come_back_as_they_were_on_windows(words: list[str]) -> None:
    assert split(joined(words, windows=True), windows=True) == words


@given(WORDS)
def test_words_are_read_as_programs_on_windows_read_them(words: list[str]) -> None:
    assert split(subprocess.list2cmdline(words), windows=True) == words


@given(WORDS)
def test_words_come_back_as_they_were_on_posix(words: list[str]) -> None:
    assert split(joined(words, windows=False), windows=False) == words
    assert joined(words, windows=False) == shlex.join(words)


@given(WORDS)
def test_a_batch_file_gets_exactly_its_arguments(words: list[str]) -> None:
    program = r"C:\Program Files (x86)\nodejs\npx.cmd"
    command = heard_by_cmd(cmd_line(SHELL, program, words))
    assert command.startswith(program)
    assert split(command.removeprefix(program), windows=True) == words


def test_a_url_with_an_ampersand_stays_one_argument_of_npx() -> None:
    line = cmd_line(SHELL, r"C:\nodejs\npx.cmd", ["-y", "mcp-remote", "https://a.b/?x=1&y=%PATH%"])
    assert "^&y=^%PATH^%" in line
    assert "&y" not in line.replace("^&", "")


@pytest.mark.parametrize("end", ["\n", "\r", "\0"])
def test_a_line_end_in_an_argument_of_a_batch_file_is_refused(end: str) -> None:
    with pytest.raises(ToolcribError, match="no line end"):
        cmd_line(SHELL, "npx.cmd", [f"a{end}calc"])


@pytest.mark.parametrize(
    ("word", "shown"),
    [
        ("plain", "plain"),
        (r"C:\tools\npx.cmd", r"C:\tools\npx.cmd"),
        (r"C:\Program Files\x", r'"C:\Program Files\x"'),
        ("", '""'),
        ("a&b", '"a&b"'),
        ("notion/*delete*", "notion/*delete*"),
        ('say "hi"', r'"say \"hi\""'),
        ("ends\\ here\\", '"ends\\ here\\\\"'),
    ],
)
def test_a_word_is_shown_as_windows_wants_it_typed(word: str, shown: str) -> None:
    assert quoted(word, windows=True) == shown


def test_an_open_quotation_mark_is_said() -> None:
    for windows in (True, False):
        with pytest.raises(ValueError, match="quotation"):
            split('npx "one two', windows=windows)


def test_which_files_windows_starts_by_its_shell() -> None:
    assert started_by_cmd(r"C:\nodejs\NPX.CMD") and started_by_cmd("uvx.bat")
    assert not started_by_cmd("node.exe") and not started_by_cmd("/usr/bin/npx")
