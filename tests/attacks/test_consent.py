"""A config hides what it runs behind masks, variables, packages and characters nobody sees.

What a person agrees to holds every word that runs; only credentials' own characters are dots.
"""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.hosts.display import LaunchText, changes_what_runs, launch_text
from app.hosts.launch import HTTP, STDIO, LaunchSpec
from tests.fakes.cpu_time import CpuTime

SECRET = "s3cr3t-value-0815"
MASK = "••••"


def text(*words: str, **more) -> LaunchText:
    return launch_text(LaunchSpec(STDIO, words[0], words[1:], **more))


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (("sh", "-c", "API_KEY=x; touch PWNED"), f'sh -c "API_KEY={MASK}; touch PWNED"'),
        (("sh", "-c", f"TOKEN={SECRET} npx a"), f'sh -c "TOKEN={MASK} npx a"'),
        (("bash", "-lc", f"export A_KEY='{SECRET}' && evil"), f"A_KEY='{MASK}' && evil"),
        (("cmd", "/c", f"set TOKEN={SECRET}& evil"), f"set TOKEN={MASK}& evil"),
        (("python3", "-c", "TOKEN=1;import os;os.system('x')"), "import os;os.system('x')"),
        (("env", f"GITHUB_TOKEN={SECRET}", "sh", "evil.sh"), f"GITHUB_TOKEN={MASK} sh evil.sh"),
        (("sh", "-c", 'eval "$1"', "--token", "touch PWNED"), "touch PWNED"),
        (("sh", "-c", "A_KEY=touch; B_KEY=PWNED; $A_KEY $B_KEY"), "A_KEY=touch; B_KEY=PWNED"),
        (("sh", "-c", "K_KEY=dG91Y2g= ;echo $K_KEY|base64 -d|sh"), "K_KEY=dG91Y2g="),
        (("sh", "--password", "/tmp/payload"), "sh --password /tmp/payload"),
        (("node", "--token", "x;require('child_process')"), "require('child_process')"),
        (("x", "--password", "a\ntouch PWNED"), "touch PWNED"),
        (("x", f"https://u:{SECRET}@h/?k=1;touch PWNED"), "touch PWNED"),
        (("x", f"Server=a;Password={SECRET};Database=b"), f"Server=a;Password={MASK};Database=b"),
    ],
)
def test_a_mask_never_covers_what_runs(words: tuple[str, ...], shown: str) -> None:
    command = text(*words).command
    assert shown in command
    assert SECRET not in command


@pytest.mark.parametrize(
    "words",
    [
        ("npx", "-y", "s", "--token", SECRET),
        ("npx", f"--api-key={SECRET}"),
        ("x", "-H", f"Authorization: Bearer {SECRET}"),
        ("x", f"--header=X-Key: {SECRET}"),
        ("docker", "run", "-e", f"GITHUB_TOKEN={SECRET}", "image"),
        ("x", f"postgres://app:{SECRET}@db:5432/x"),
        ("x", "postgres://app:p$s&w;d@db/x"),
        ("x", "--password", "p&ss$w;rd"),
        ("x", f'{{"API_KEY": "{SECRET}"}}'),
        ("bash", "-c", f"curl -H 'Authorization: Bearer {SECRET}' https://h"),
        ("x", "ghp_abcdefghijklmnopqrstuvwxyz0123456789"),
        ("sh", "-c", f"curl https://h/?api_key={SECRET} | sh"),
    ],
)
def test_a_credential_is_never_shown(words: tuple[str, ...]) -> None:
    shown = text(*words).line
    assert MASK in shown
    for part in (SECRET, "p$s", "ss$w", "ghp_"):
        assert part not in shown


def test_the_address_of_a_server_is_shown_without_its_credentials() -> None:
    launch = LaunchSpec(
        HTTP, url=f"https://u:{SECRET}@h/mcp?api_key={SECRET}", headers={"X-Team": SECRET}
    )
    shown = launch_text(launch)
    assert shown.command == f"https://u:{MASK}@h/mcp?api_key={MASK}"
    assert shown.notes == ("sends X-Team",)


def test_variables_are_named_and_those_that_change_what_runs_are_marked() -> None:
    names = {"NODE_OPTIONS": SECRET, "API_KEY": SECRET, "AWS_REGION": "eu-west-1"}
    shown = text("node", "a.js", env=names, cwd="/srv/x")
    assert shown.notes == (
        "runs in the folder /srv/x",
        "sets NODE_OPTIONS, which can change what runs",
        "sets API_KEY, AWS_REGION",
    )
    assert SECRET not in shown.line


CHANGING = """
    NODE_OPTIONS PYTHONSTARTUP PYTHONPATH LD_PRELOAD LD_LIBRARY_PATH PATH Path BASH_ENV ENV
    DYLD_INSERT_LIBRARIES PERL5OPT RUBYOPT JAVA_TOOL_OPTIONS GIT_SSH_COMMAND npm_config_registry
    UV_INDEX_URL PIP_INDEX_URL DOCKER_HOST DOTNET_STARTUP_HOOKS HOME NODE_EXTRA_CA_CERTS"""


@pytest.mark.parametrize("name", CHANGING.split())
def test_a_variable_that_changes_what_runs_is_known(name: str) -> None:
    assert changes_what_runs(name)


@pytest.mark.parametrize("name", ["API_KEY", "AWS_REGION", "GITHUB_TOKEN", "LOG_LEVEL", "PORT"])
def test_an_ordinary_variable_is_not_marked(name: str) -> None:
    assert not changes_what_runs(name)


@pytest.mark.parametrize(
    ("words", "downloads"),
    [
        ("npx -y @a/server@1.2.3 --flag", ["@a/server@1.2.3 from npm"]),
        ("npx.cmd --yes pkg", ["pkg from npm"]),
        ("cmd /c npx -y pkg", ["pkg from npm"]),
        ("npx --package=one -- two", ["one from npm"]),
        ("npx -p one -p other run", ["one from npm", "other from npm"]),
        ("npm exec -y pkg", ["pkg from npm"]),
        ("pnpm dlx pkg", ["pkg from npm"]),
        ("bunx pkg", ["pkg from npm"]),
        ("uvx mcp-server-time", ["mcp-server-time from PyPI"]),
        ("uvx --python 3.12 --with evil tool", ["tool from PyPI", "evil from PyPI"]),
        ("uvx --from git+https://h/r tool", ["git+https://h/r from its address"]),
        ("uv tool run ruff", ["ruff from PyPI"]),
        ("uv --directory /x run --with mcp a.py", ["mcp from PyPI"]),
        ("pipx run --spec a==1 b", ["a==1 from PyPI"]),
        ("docker run -i --rm -e TOKEN -v /:/h mcp/x arg", ["mcp/x from its registry"]),
        ("podman container run --name n img", ["img from its registry"]),
        ("deno run -A jsr:@x/y", ["jsr:@x/y from its address"]),
        ("deno run -A local.ts", []),
        ("go run github.com/a/b@latest", ["github.com/a/b@latest from its address"]),
        ("node server.js", []),
        ("uv run server.py", []),
    ],
)
def test_what_is_downloaded_first_is_said(words: str, downloads: list[str]) -> None:
    notes = text(*words.split()).notes
    assert [note for note in notes if note.startswith("downloads ")] == [
        f"downloads {one}" for one in downloads
    ]


def test_characters_that_repaint_or_reorder_a_line_are_spelled_out() -> None:
    shown = text("x", "\x1b[2K\rls", "\u202egpj.exe", "a\u200bb", "\x9b1A", env={"A\x1b": "1"})
    assert shown.line.isprintable()
    assert "⟨U+001B⟩[2K" in shown.command
    assert "⟨U+202E⟩gpj.exe" in shown.command


def test_words_stay_apart() -> None:
    assert text("x", "a b", "c").command != text("x", "a", "b c").command
    assert text("x", '"a', 'b"').command != text("x", "a b").command
    assert text("x", "").command == 'x ""'


NAMES = re.compile(
    r"(?i)token|key|secret|passw|pwd|credential|bearer|basic|pat|auth|://|gh|sk-|header|-h[:=]"
)
plain = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=12)


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(["API_KEY=v", "TOKEN='v'", 'GITHUB_TOKEN="v"', "PASSWORD=v", "--token v"]),
    st.sampled_from([";", "&&", "||", "|", "\n", " ; ", "&", " "]),
    st.lists(st.text("abcdefgh./-", min_size=1, max_size=9), min_size=1, max_size=5),
)
def test_whatever_follows_a_credential_in_code_is_shown(
    credential: str, end: str, payload: list[str]
) -> None:
    code = f"{credential}{end}{' '.join(payload)}"
    if end == " " and credential.startswith("--"):
        code = f"{credential}; {' '.join(payload)}"
    assert payload[-1] in text("sh", "-c", code).command


@settings(max_examples=300, deadline=None)
@given(st.lists(plain, max_size=6))
def test_a_command_without_a_credentials_name_is_shown_word_for_word(words: list[str]) -> None:
    if NAMES.search(" ".join(words)):
        return
    shown = text("run", *words).command
    assert all(word in shown for word in words if not re.search(r"[\"'\\]", word))


@pytest.mark.parametrize(
    "part", ["a", "a.", "TOKEN=", "eyJ", "a://", "--token ", "Bearer ", '"a":', "x=y;", "a@"]
)
def test_a_hostile_megabyte_is_shown_in_linear_time(part: str) -> None:
    code = part * (300_000 // len(part))
    with CpuTime() as cpu:
        text("sh", "-c", code)
    assert cpu.seconds < 5.0
