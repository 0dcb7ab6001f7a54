"""Text of a launch for the person who agrees to it; the one rendering of window and CLI."""

import re
from collections.abc import Collection
from dataclasses import dataclass

from app.core.text import visible
from app.hosts.entries import REACH
from app.hosts.fetches import fetched
from app.hosts.launch import STDIO, LaunchSpec
from app.secrets import credentials
from app.secrets.shown_words import masked_words
from store.records import ServerSpec

# Variables that make a program load, or a package manager fetch, something else.
_CHANGES_WHAT_RUNS = re.compile(
    r"""(?ix)^(?:
    PATH | PATHEXT | COMSPEC | SHELL | IFS | ENV | HOME | USERPROFILE | APPDATA | LOCALAPPDATA
    | XDG_\w+_(?:HOME|DIRS) | TOOLCRIB_\w+ | SHELLOPTS | BASHOPTS | BASH_\w+ | PROMPT_COMMAND | PS4
    | ZDOTDIR | LD_\w+ | DYLD_\w+ | GCONV_PATH | LOCPATH | GLIBC_TUNABLES | OPENSSL_\w+
    | SSL_CERT_\w+
    | PYTHON\w+ | PIP_\w+ | PIPX_\w+ | UV_\w+ | VIRTUAL_ENV | CONDA_\w+ | POETRY_\w+
    | NODE_\w+ | NPM_\w+ | YARN_\w+ | PNPM_\w+ | BUN_\w+ | DENO_\w+ | TS_NODE_\w+ | ELECTRON_\w+
    | PERL\w+ | RUBY\w+ | GEM_\w+ | BUNDLE_\w+ | PHPRC | PHP_INI_SCAN_DIR | LUA_\w+ | R_\w+
    | JULIA_\w+
    | JAVA_\w+ | _JAVA_OPTIONS | JDK_JAVA_OPTIONS | CLASSPATH | MAVEN_\w+ | GRADLE_\w+ | ERL_\w+
    | DOTNET_\w+ | COR(?:ECLR)?_\w+ | GO(?:FLAGS|PROXY|ROOT|PATH|TOOLCHAIN) | RUST\w+ | CARGO_\w+
    | MAKEFLAGS | GIT_\w+ | SSH_ASKPASS | EDITOR | VISUAL | PAGER | BROWSER | LESSOPEN | LESSCLOSE
    | DOCKER_\w+ | CONTAINER_HOST | REQUESTS_CA_BUNDLE | CURL_CA_BUNDLE | CURL_HOME | TERMINFO
    )$"""
)


@dataclass(frozen=True, slots=True)
class LaunchText:
    """A launch in words, safe to print: nothing in it moves a cursor or reorders a line."""

    command: str  # the whole command line or URL, only its secrets' characters masked
    notes: tuple[str, ...] = ()  # what else decides what runs, a clause each

    @property
    def line(self) -> str:
        """All on one line."""
        return " · ".join((self.command, *self.notes))

    @property
    def lines(self) -> tuple[str, ...]:
        """The command, then what else decides what runs."""
        return (self.command, *self.notes)

    def under(self, name: str) -> list[str]:
        """The same for a terminal, under the server's name; what changes it is indented below."""
        return [f"  {visible(name)}: {self.command}", *(f"      {note}" for note in self.notes)]


def launch_text(launch: LaunchSpec) -> LaunchText:
    """The launch as consent shows it."""
    if launch.transport != STDIO:
        url = credentials.mask(credentials.hide_in_url(launch.url, []))
        return LaunchText(visible(url), _names("sends", launch.headers))
    words = (launch.command, *launch.args)
    at = words.index("--") + 1 if words[1:2] == (REACH,) and "--" in words else 0
    shown = masked_words(words, fetched(words[at:]))
    notes = [f"downloads {visible(what)}" for what in fetched(shown[at:])]
    if launch.cwd:
        notes.append(f"runs in the folder {visible(launch.cwd)}")
    changing = [name for name in launch.env if changes_what_runs(name)]
    notes += (f"sets {visible(name)}, which can change what runs" for name in changing)
    notes += _names("sets", [name for name in launch.env if name not in changing])
    return LaunchText(" ".join(map(_quoted, shown)), tuple(notes))


def spec_text(spec: ServerSpec) -> LaunchText:
    """The same for a stored spec; what the store does not keep is masked."""
    args = tuple(credentials.mask(arg) for arg in spec.args)
    env, headers = dict.fromkeys(spec.env_names, ""), dict.fromkeys(spec.header_names, "")
    url = credentials.mask(spec.url)
    command = credentials.mask(spec.command)
    return launch_text(LaunchSpec(spec.transport, command, args, env, spec.cwd, url, headers))


def changes_what_runs(name: str) -> bool:
    """True if an environment variable of this name can make a command run something else."""
    return bool(_CHANGES_WHAT_RUNS.match(name))


def _names(verb: str, names: Collection[str]) -> tuple[str, ...]:
    """`sets A, B`, nothing for no names."""
    return (f"{verb} {', '.join(map(visible, names))}",) if names else ()


def _quoted(word: str) -> str:
    """The word as one word: in quotation marks where it would not be read as one."""
    text = visible(word)
    if word and not re.search(r"[\s\"']", word):
        return text
    return '"' + text.replace('"', '\\"') + '"'
