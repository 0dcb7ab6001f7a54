"""Every fault seen in real servers, and the ones made up, against a real child process."""

import json
import os
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from app.hosts.launch import STDIO, LaunchSpec
from app.indexing.reading import Limits, Reading
from app.registry.probe import ProbeOptions, probe
from store.records import COULD_NOT_START, READ, STOPPED, TOOK_TOO_LONG

MakeFake = Callable[..., LaunchSpec]


def names(reading: Reading) -> list[str]:
    return [tool.name for tool in reading.tools]


def asked(log: Path) -> list[str]:
    lines = log.read_text(encoding="utf-8").splitlines()
    return [json.loads(line).get("method", "") for line in lines]


def gone(pid: int) -> bool:
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return True
    return text.rpartition(")")[2].split()[0] == "Z"


def test_a_server_that_behaves_is_read_completely(fake: MakeFake, tmp_path: Path) -> None:
    log = tmp_path / "log"
    reading = probe(fake("extras", FAKE_LOG=str(log)))
    assert (reading.status, reading.problem) == (READ, "")
    assert names(reading) == ["tool_0", "tool_1", "tool_2"]
    assert reading.tools[0].raw["inputSchema"]["required"] == ["text"]
    assert reading.server_info == {"name": "fake", "version": "1.0"}
    assert reading.instructions == "Call tool_0 first."
    assert [p["name"] for p in reading.prompts] == ["greet"]
    assert [r["uri"] for r in reading.resources] == ["fake://1"]
    assert [t["uriTemplate"] for t in reading.templates] == ["fake://{id}"]
    assert reading.taken_with["protocol"] == "2025-11-25"
    assert reading.taken_with["home"] == "own"
    assert reading.taken_with["transport"] == "stdio"
    assert "server/discover" not in asked(log)


@pytest.mark.parametrize("mode", ["die-unknown", "ignore-unknown", "unknown-32602"])
def test_a_server_that_dislikes_unknown_methods_is_read_at_once(fake: MakeFake, mode: str) -> None:
    assert names(probe(fake(mode))) == ["tool_0", "tool_1", "tool_2"]


@pytest.mark.parametrize("mode", ["modern", "modern-dies"])
def test_a_server_of_the_newer_era_only_is_read_as_well(fake: MakeFake, mode: str) -> None:
    reading = probe(fake(mode))
    assert names(reading) == ["tool_0", "tool_1", "tool_2"]
    assert reading.taken_with["era"] == "modern"
    assert reading.server_info["version"] == "2.0"


def test_the_era_found_last_time_is_tried_first(fake: MakeFake, tmp_path: Path) -> None:
    log = tmp_path / "log"
    reading = probe(fake("modern-dies", FAKE_LOG=str(log)), era="modern")
    assert reading.read
    assert asked(log) == ["server/discover", "tools/list"]


def test_a_server_that_went_back_to_the_older_era_is_read(fake: MakeFake) -> None:
    reading = probe(fake("die-unknown"), era="modern")
    assert reading.taken_with["era"] == "legacy"


def test_a_bad_tool_is_a_row_with_its_problem_and_the_rest_stays(fake: MakeFake) -> None:
    reading = probe(fake("mixed"))
    problems = {tool.name: tool.problem for tool in reading.tools if tool.problem}
    assert "cannot be used" in problems.pop("bad_schema")
    assert "cannot be used" in problems.pop("dangling_ref")
    assert problems == {
        "bad_type": 'Its input schema is of type "array", not object.',
        "schema_is_text": "Its input schema is not an object.",
        "no_schema": "It has no input schema.",
        "#9": "It has no name.",
        "#10": "It has no name.",
        "#11": "It is not an object.",
        "#12": "It is not an object.",
        "twin": "Another tool of this server has the same name.",
        "#16": "It has no name.",
    }
    usable = [tool.name for tool in reading.tools if not tool.problem]
    wanted = ["good_one", "no_type", "root_any_of", "twin", "extra_fields", "last_one"]
    assert usable == wanted


def test_fields_that_nobody_knows_survive(fake: MakeFake) -> None:
    reading = probe(fake("mixed"))
    raw = next(tool.raw for tool in reading.tools if tool.name == "extra_fields")
    assert (raw["x-vendor"], raw["_meta"], raw["execution"]) == ({"a": 1}, {"b": 2}, {"c": 3})


@pytest.mark.parametrize(
    "mode",
    ["junk", "banner", "flood-junk", "flood-notes", "flood-stderr", "early-log", "batch", "twice"],
)
def test_noise_around_the_answers_is_survived(fake: MakeFake, mode: str) -> None:
    reading = probe(fake(mode))
    assert names(reading) == ["tool_0", "tool_1", "tool_2"]


def test_junk_on_stdout_is_noted_with_its_count(fake: MakeFake) -> None:
    notes = probe(fake("junk")).taken_with["notes"]
    assert any("lines on stdout that are no messages" in note for note in notes)


def test_a_question_right_after_initialized_is_answered(fake: MakeFake) -> None:
    assert probe(fake("roots-first")).read


def test_the_tools_depend_on_what_the_client_can_do_and_that_is_recorded(fake: MakeFake) -> None:
    reading = probe(fake("needs-sampling"))
    assert "sampled" in names(reading)
    assert set(reading.taken_with["client_capabilities"]) == {"roots", "sampling", "elicitation"}


def test_an_odd_greeting_is_taken_as_it_comes(fake: MakeFake) -> None:
    reading = probe(fake("odd-init"))
    assert reading.read
    assert reading.taken_with["protocol"] == "1999-01-01"
    assert reading.server_info == {}


def test_pages_are_read_to_the_end(fake: MakeFake) -> None:
    assert names(probe(fake("pages,tools=11"))) == [f"tool_{i}" for i in range(11)]


def test_a_cursor_that_comes_again_ends_the_list(fake: MakeFake) -> None:
    reading = probe(fake("loop"))
    assert names(reading) == ["looped", "looped"]
    assert "goes round in circles" in reading.taken_with["notes"][0]


def test_a_single_page_beyond_the_limit_is_cut_and_says_so(
    fake: MakeFake, quick: ProbeOptions
) -> None:
    reading = probe(fake("tools=1000"), options=quick)
    assert len(reading.tools) == 200
    assert reading.problem == "tools/list has more than 200 entries; the rest was left out."


def test_a_page_exactly_at_the_limit_is_whole(fake: MakeFake, quick: ProbeOptions) -> None:
    reading = probe(fake("tools=200"), options=quick)
    assert (len(reading.tools), reading.problem) == (200, "")


def test_definitions_beyond_the_characters_of_a_list_are_left_out(
    fake: MakeFake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.mcp.limits.LIST_CHARACTERS", 5_000)
    for mode in ("tools=100", "pages,tools=100"):
        reading = probe(fake(mode))
        assert 10 < len(reading.tools) < 100
        assert reading.problem == "tools/list takes over 5,000 characters; the rest was left out."


def test_a_list_without_end_is_cut(fake: MakeFake, quick: ProbeOptions) -> None:
    reading = probe(fake("endless"), options=quick)
    assert len(reading.tools) == 200
    assert "more than 200 entries" in reading.taken_with["notes"][0]


def test_a_list_that_changes_while_it_is_read_is_read_again(fake: MakeFake) -> None:
    assert len(probe(fake("announces")).tools) == 3


def test_a_line_of_700_kilobytes_is_a_tool_like_any_other(fake: MakeFake) -> None:
    reading = probe(fake("huge-tool"))
    assert len(reading.tools[3].raw["description"]) == 700_000
    assert not reading.tools[3].problem


def test_a_tool_of_megabytes_is_a_row_but_not_kept(fake: MakeFake) -> None:
    reading = probe(fake("giant-tool"))
    assert "it was not kept" in reading.tools[3].problem
    assert len(json.dumps(reading.tools[3].raw)) < 3_000


@pytest.mark.parametrize(
    ("mode", "said"),
    [
        ("big-line", "a line of over 32,000,000 bytes"),
        ("endless-line", "a line of over"),
        ("deep", "nested too deeply"),
    ],
)
def test_a_message_beyond_all_measure_ends_the_reading(
    fake: MakeFake, quick: ProbeOptions, mode: str, said: str
) -> None:
    reading = probe(fake(mode), options=quick)
    assert reading.status == COULD_NOT_START
    assert said in reading.problem


def test_invalid_utf8_is_replaced(fake: MakeFake) -> None:
    reading = probe(fake("bad-utf8"))
    assert reading.tools[0].raw["description"] == "Does thing \ufffd\ufffd number 0"


def test_half_a_surrogate_pair_is_replaced(fake: MakeFake) -> None:
    reading = probe(fake("surrogate"))
    assert reading.tools[3].raw["description"] == "half a pair: \ufffd"


@pytest.mark.parametrize("mode", ["bad-extras", "hang-extras", "exit-extras"])
def test_prompts_and_resources_may_fail_alone(
    fake: MakeFake, quick: ProbeOptions, mode: str
) -> None:
    reading = probe(fake(mode), options=quick)
    assert names(reading) == ["tool_0", "tool_1", "tool_2"]
    assert reading.resources == ()
    assert any(note.startswith("resources/list") for note in reading.taken_with["notes"])


@pytest.mark.parametrize("mode", ["not-a-list", "null-result"])
def test_an_answer_without_a_list_is_said(fake: MakeFake, mode: str) -> None:
    reading = probe(fake(mode))
    assert reading.status == COULD_NOT_START
    assert "its answer to tools/list holds no list" in reading.problem


def test_an_error_instead_of_the_tools_is_quoted(fake: MakeFake) -> None:
    reading = probe(fake("list-error"))
    assert reading.status == COULD_NOT_START
    assert reading.problem.endswith("to answer tools/list: Unauthorized: set GITHUB_TOKEN")


def test_a_server_that_exits_is_quoted_with_its_code_and_without_secrets(fake: MakeFake) -> None:
    reading = probe(fake("exit-early", API_KEY="hunter2-hunter2"))
    assert reading.status == COULD_NOT_START
    assert reading.problem == "It exited with code 3: fatal: bad key ••••"
    assert "hunter2" not in reading.stderr


def test_a_server_that_exits_in_the_middle_is_quoted(fake: MakeFake) -> None:
    reading = probe(fake("exit-list"))
    assert reading.problem == "It exited with code 5: Traceback: list failed"


def test_a_server_that_is_killed_says_by_which_signal(fake: MakeFake) -> None:
    assert probe(fake("killed")).problem == (
        "It was ended by signal 9 without a word."
        " Run its command in a terminal to see what it lacks."
    )


def test_a_healthy_server_may_exit_with_1(fake: MakeFake) -> None:
    assert probe(fake("exit-code=1")).read


def test_what_a_read_server_prints_on_stderr_is_kept_without_secrets(fake: MakeFake) -> None:
    reading = probe(fake("secret-banner,banner", API_KEY="hunter2-hunter2"))
    assert "using key ••••" in reading.stderr
    assert "\x1b" not in reading.stderr
    assert len(reading.stderr) < 90_000


def test_where_stderr_is_cut_no_half_secret_stays(fake: MakeFake) -> None:
    reading = probe(fake("long-line", API_KEY="hunter2-hunter2"))
    assert reading.stderr.endswith("xxx") and len(reading.stderr) <= 16_384
    assert "hunter2" not in reading.stderr


def test_a_credential_inside_a_tool_is_blotted_out(fake: MakeFake) -> None:
    tool = {"name": "t", "description": "uses hunter2-hunter2", "inputSchema": {"type": "object"}}
    reading = probe(fake("", API_KEY="hunter2-hunter2", FAKE_TOOLS=json.dumps([tool])))
    assert reading.tools[0].raw["description"] == "uses ••••"


@pytest.mark.parametrize(
    ("mode", "word"), [("hang-init", "initialize"), ("hang-list", "tools/list")]
)
def test_a_server_that_never_answers_is_given_up(
    fake: MakeFake, quick: ProbeOptions, mode: str, word: str
) -> None:
    reading = probe(fake(mode), options=quick)
    assert reading.status == TOOK_TOO_LONG
    assert reading.problem == (
        f"Waited 1 s for it to answer {word}. Run its command in a terminal to see what it waits"
        " for, or give servers more time in Settings."
    )


def test_a_server_that_works_hard_is_waited_for(fake: MakeFake, quick: ProbeOptions) -> None:
    assert probe(fake("busy-init=1.5"), options=quick).read


def test_hard_work_without_end_is_given_up_too(fake: MakeFake, quick: ProbeOptions) -> None:
    limits = replace(quick.limits, total_seconds=1.0)
    reading = probe(fake("busy-init=30"), options=ProbeOptions(limits))
    assert reading.status == TOOK_TOO_LONG


@pytest.mark.parametrize("manner", ["hang-init", "hang-init,ignore-close"])
def test_cancel_ends_the_reading_within_a_second(fake: MakeFake, manner: str) -> None:
    cancel, pressed = threading.Event(), []

    def press() -> None:
        pressed.append(time.monotonic())
        cancel.set()

    timer = threading.Timer(1.0, press)
    timer.start()
    reading = probe(fake(manner), cancel=cancel)
    timer.join()
    assert reading.status == STOPPED
    assert time.monotonic() - pressed[0] < 1.0


def test_a_server_that_ignores_every_hint_is_killed(fake: MakeFake, quick: ProbeOptions) -> None:
    before = time.monotonic()
    assert probe(fake("ignore-close"), options=quick).read
    assert time.monotonic() - before < 8


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
@pytest.mark.parametrize("mode", ["escape", "escape-loud"])
def test_children_that_escaped_are_gone_too(
    fake: MakeFake, quick: ProbeOptions, tmp_path: Path, mode: str
) -> None:
    pids = tmp_path / "pids"
    reading = probe(fake(mode, FAKE_PIDS=str(pids)), options=quick)
    assert reading.read
    escaped = [int(pid) for pid in pids.read_text(encoding="utf-8").split()]
    assert len(escaped) == 2
    assert all(gone(pid) for pid in escaped)


def test_a_throwaway_home_keeps_the_real_one_clean(fake: MakeFake, tmp_path: Path) -> None:
    environ = {**os.environ, "HOME": str(tmp_path)}
    reading = probe(fake("telemetry"), options=ProbeOptions(environ=environ, scratch_home=True))
    assert reading.taken_with["home"] == "scratch"
    assert list(tmp_path.iterdir()) == []
    probe(fake("telemetry"), options=ProbeOptions(environ=environ))
    assert [path.name for path in tmp_path.iterdir()] == [".fake-telemetry"]


def test_a_command_that_is_not_there_is_a_sentence() -> None:
    reading = probe(LaunchSpec(STDIO, "no-such-command", ("--token", "hunter2-hunter2")))
    assert (reading.status, reading.problem) == (
        COULD_NOT_START,
        "no-such-command was not found. Install it, or give its full path in the host's file.",
    )


def test_a_program_that_is_no_server_is_quoted(tmp_path: Path) -> None:
    reading = probe(LaunchSpec(STDIO, "echo", ("hello",)))
    assert reading.problem.endswith("and printed no MCP message: hello")
    assert "without a word" not in reading.problem


def test_a_runner_that_is_missing_is_named_with_what_brings_it(tmp_path: Path) -> None:
    options = ProbeOptions(environ={"PATH": str(tmp_path), "HOME": str(tmp_path)})
    reading = probe(LaunchSpec(STDIO, "uvx", ("mcp-server-git",)), options=options)
    assert reading.problem.startswith("uvx was not found. Install uv, or give its full path")


def test_the_working_folder_is_no_secret(
    fake: MakeFake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PWD", str(tmp_path))
    reading = probe(LaunchSpec(STDIO, "echo", (f"{tmp_path}/settings.json",)))
    assert f"{tmp_path}/settings.json" in reading.problem


def test_a_server_without_tools_is_read_all_the_same(fake: MakeFake) -> None:
    reading = probe(fake("tools=0,no-tools"))
    assert (reading.status, reading.tools) == (READ, ())


def test_the_hash_of_a_list_does_not_depend_on_its_order(fake: MakeFake) -> None:
    one = {"name": "a", "inputSchema": {"type": "object"}}
    two = {"inputSchema": {"type": "object"}, "name": "b"}
    first = probe(fake("", FAKE_TOOLS=json.dumps([one, two])))
    second = probe(fake("", FAKE_TOOLS=json.dumps([two, one])))
    assert first.list_hash == second.list_hash
    assert first.list_hash != probe(fake("", FAKE_TOOLS=json.dumps([one]))).list_hash


def test_limits_follow_the_settings() -> None:
    from app.core.settings import Settings

    limits = Limits.of(Settings(scan_seconds=7, scan_limit_seconds=9))
    assert (limits.quiet_seconds, limits.total_seconds) == (7.0, 9.0)
