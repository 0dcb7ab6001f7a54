import os
from pathlib import Path

import pytest

from app.hosts.interpolation import expand, expand_text, only_host_fills, variables
from app.hosts.launch import HTTP, STDIO, LaunchSpec

HOME = Path("/home/a")
ENV = {"TOKEN": "value"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("${TOKEN}", "value"),
        ("Bearer ${TOKEN}", "Bearer value"),
        ("${env:TOKEN}", "value"),
        ("{env:TOKEN}", "value"),
        ("{env:MISSING}", ""),  # opencode: missing is empty
        ("${MISSING}", "${MISSING}"),
        ("${MISSING:-else}", "else"),
        ("${TOKEN:-else}", "value"),
        ("$TOKEN", "value"),
        ("Bearer $TOKEN", "Bearer value"),
        ("price is 5$TOKEN", "price is 5$TOKEN"),
        ("${userHome}/x", "/home/a/x"),
        ("a${/}b", f"a{os.sep}b"),
        ("${input:key}", "${input:key}"),
        ("{file:~/x}", "{file:~/x}"),
        ("$(rm -rf /)", "$(rm -rf /)"),
        ("${{ secrets.X }}", "${{ secrets.X }}"),
        ("${workspaceFolder}/x", "${workspaceFolder}/x"),
    ],
)
def test_variables_are_filled_in_and_nothing_is_run(text, expected):
    assert expand_text(text, ENV, HOME) == expected


def test_every_part_of_a_launch_is_filled_in_and_the_launch_itself_stays():
    launch = LaunchSpec(STDIO, "${TOKEN}", ("{env:TOKEN}",), {"K": "$TOKEN"}, "${userHome}")
    after = expand(launch, ENV, HOME)
    assert (after.command, after.args, after.env, after.cwd) == (
        "value",
        ("value",),
        {"K": "value"},
        "/home/a",
    )
    assert launch.command == "${TOKEN}"


def test_variables_are_listed_as_they_are_spelled():
    launch = LaunchSpec(HTTP, url="https://h/${A:-b}", headers={"X": "Bearer $B", "Y": "{env:C}"})
    assert variables(launch) == {"A": "${A:-b}", "B": "$B", "C": "{env:C}"}
    assert only_host_fills(launch) == ()


@pytest.mark.parametrize(
    "text",
    ["${input:k}", "{file:~/x}", "${file:/x}", "$(gh auth token)", "${workspaceFolder}/.env"],
)
def test_what_only_the_host_fills_in_is_known(text):
    assert only_host_fills(LaunchSpec(STDIO, "x", (text,)))
