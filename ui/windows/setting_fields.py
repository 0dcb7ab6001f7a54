"""Settings that a form can show: for each its name in a dataclass, its words and its bounds.

A name with a point, as gateway.pool, is that of a settings dataclass inside another.
"""

from dataclasses import dataclass, field
from functools import reduce


@dataclass(frozen=True, slots=True)
class SettingField:
    """Common parts of every field; `step_noun` names it in an undo step in the label's place."""

    name: str
    label: str
    tip: str = field(default="", kw_only=True)
    step_noun: str = field(default="", kw_only=True)


@dataclass(frozen=True, slots=True)
class Number(SettingField):
    """A whole number; `zero` is what 0 means, where it means something else than none."""

    least: int
    most: int
    step: int = 1
    unit: str = ""
    zero: str = ""


@dataclass(frozen=True, slots=True)
class Amount(SettingField):
    """An amount with two decimals; `zero` is what 0 means."""

    most: float
    zero: str


@dataclass(frozen=True, slots=True)
class Choice(SettingField):
    """One of several values, each with its words."""

    choices: tuple[tuple[str, str], ...]  # words, value


@dataclass(frozen=True, slots=True)
class Switch(SettingField):
    """On or off."""


@dataclass(frozen=True, slots=True)
class Text(SettingField):
    """One line of text."""


@dataclass(frozen=True, slots=True)
class Patterns(SettingField):
    """Names separated by commas."""

    example: str


@dataclass(frozen=True, slots=True)
class Rules(SettingField):
    """A table of tool patterns, a line each: `pattern: one, other`."""

    example: str


Field = Number | Amount | Choice | Switch | Text | Patterns | Rules
Group = tuple[str, tuple[Field, ...]]  # a heading, and the fields below it

POOL_WORDS = {
    "servers": "Names of the servers",
    "names": "Names of all tools",
    "all": "All tools, a line each",
    "none": "Nothing",
}

HINTS = (
    "Single words of a tool's requests, labelled queries and summary, which its own text lacks."
    " Every server then goes behind the gateway."
)

DATA_OUT = (
    ("Note it in Activity", "warn"),
    ("Ask first, if the host can", "ask"),
    ("Refuse the call", "refuse"),
)

PROFILE: tuple[Group, ...] = (
    (
        "New tools",
        (
            Choice(
                "new_tools",
                "Tools that appear &later",
                (("Held back until you decide", "held"), ("On at once", "on")),
                tip="Tools that a server adds after it was first read.",
            ),
        ),
    ),
    (
        "What the model sees",
        (
            Choice(
                "gateway.pool",
                "Menu at the &start",
                tuple((words, pool) for pool, words in POOL_WORDS.items()),
                tip="How much the menu describes the servers; tokens include the menu.",
            ),
            Number(
                "gateway.search_tokens",
                "Longest search &answer",
                100,
                20_000,
                100,
                " tokens",
                tip="The best tool's arguments and the names of others fit into this.",
            ),
            Choice(
                "gateway.slim",
                "S&chemas",
                (
                    ("Shortened, with the same checks", "lossless"),
                    ("Shortened more: without additionalProperties", "strong"),
                    ("As the server wrote them", "none"),
                ),
                tip="Arguments are always checked against the server's own schema.",
            ),
            Switch(
                "gateway.marketplace",
                "&Name servers that could be installed",
                tip="Where no tool fits a model's search, the answer names a listed server that"
                " would, to ask you. It can never install one.",
                step_noun="servers that could be installed in searches",
            ),
            Switch(
                "gateway.search_hints",
                "Pruned: words for Claude Code's own search",
                tip=HINTS,
                step_noun="words for Claude Code's own search",
            ),
            Switch(
                "gateway.promote",
                "Add &found tools to the host's own list",
                tip="Few hosts read a changed list, and each change empties their prompt cache.",
            ),
        ),
    ),
    (
        "Calls",
        (
            Switch(
                "gateway.start_ahead",
                "Start servers with the &host",
                tip="Otherwise a server starts at its first call.",
            ),
            Number(
                "gateway.server_idle_minutes",
                "&End idle servers after",
                0,
                1_440,
                10,
                " min",
                zero="Never",
                tip="The next call starts the server again. Its memory is lost.",
                step_noun="the time until an idle server is ended",
            ),
            Number(
                "gateway.call_seconds",
                "&Time limit of a call",
                0,
                86_400,
                10,
                " s",
                zero="One hour",
            ),
            Number(
                "gateway.result_tokens",
                "Longest r&esult",
                0,
                1_000_000,
                1_000,
                " tokens",
                zero="No limit",
                tip="A longer result is cut. The model can read the rest by parts.",
            ),
            Choice(
                "gateway.secrets_out",
                "A secret &would leave",
                DATA_OUT,
                tip="For a call that passes a likely secret to a tool that can send data.",
                step_noun="what happens to calls with secrets",
            ),
            Choice(
                "gateway.passages_out",
                "Other te&xt would leave",
                DATA_OUT,
                tip="For a call that passes another server's text to a tool that can send data.",
                step_noun="what happens to calls with another server's text",
            ),
            Patterns(
                "gateway.approve",
                "Wait for your &yes before",
                "destructive, github/delete_*",
                tip="Tools; the word destructive names those that say so of themselves.",
                step_noun="which calls wait for your yes",
            ),
            Number(
                "gateway.approve_seconds",
                "They wait at most",
                5,
                3_600,
                10,
                " s",
                tip="Then the model hears that no answer came. Nothing is called.",
                step_noun="the time that calls wait for your yes",
            ),
            Switch(
                "gateway.approve_held",
                "Ask about calls of held and changed tools, too",
                tip="Only while this window is open; else they are refused at once.",
                step_noun="ask about calls of held and changed tools",
            ),
            Switch(
                "gateway.combinations",
                "Warn about &tools that could leak data together",
                tip="Review shows a notice where tools with private data, untrusted content and a"
                " way to send data are on together.",
            ),
        ),
    ),
)

# Settings that few users need.
PROFILE_ADVANCED: tuple[Group, ...] = (
    (
        "Prompts",
        (
            Switch(
                "gateway.keep_prompts",
                "Keep &prompts that hooks look at",
                tip="The first 500 characters of each prompt are stored in Toolcrib's own database"
                " on this machine, so that Activity can make labels of them; they go with the"
                " oldest events. The query set can then take prompts from the hosts' records, too.",
                step_noun="keep prompts",
            ),
        ),
    ),
    (
        "A conversation",
        (
            Number("gateway.loaded_tools", "Tools &kept loaded", 1, 1_000),
            Number(
                "gateway.loaded_tokens",
                "Their tokens, at &most",
                500,
                1_000_000,
                500,
                " tokens",
                step_noun="the tokens kept loaded",
            ),
            Number(
                "gateway.idle_seconds",
                "F&orgotten after",
                10,
                86_400,
                60,
                " s unused",
                step_noun="the time until a tool is forgotten",
            ),
            Number(
                "gateway.loop_calls",
                "A loop &is the same call",
                2,
                100,
                1,
                " times",
                tip="The call runs. Then its tool is unloaded, with a note to the model.",
                step_noun="what a loop is",
            ),
            Number(
                "gateway.loop_window_calls",
                "Withi&n",
                2,
                1_000,
                1,
                " calls",
                step_noun="the calls of a loop",
            ),
            Number(
                "gateway.loop_window_seconds",
                "An&d within",
                1,
                86_400,
                10,
                " s",
                step_noun="the time of a loop",
            ),
            Patterns(
                "gateway.loop_exempt",
                "Ne&ver a loop",
                "browser/*, time/get_current_time",
                tip="Tools that may be called many times in a row.",
                step_noun="what is never a loop",
            ),
        ),
    ),
    (
        "Rules: who may use a tool, and when",
        (
            Rules(
                "preconditions",
                "Pre&conditions",
                tip="A line for each tool pattern: authenticated(scope), after(tool pattern) or"
                " milestone(name). Until that holds, a conversation is not offered the tool.",
                example="github/merge_*: after(github/get_pull_request), milestone(reviewed)",
            ),
            Rules(
                "scopes",
                "Onl&y for",
                tip="A line for each tool pattern: who may find and call it. A tool without a"
                " line is open to every user.",
                example="files/delete_*: user:ann, role:ops",
            ),
        ),
    ),
)

LOOK: tuple[Group, ...] = (
    (
        "Appearance",
        (
            Choice(
                "appearance",
                "&Colours",
                (("As the system", "system"), ("Light", "light"), ("Dark", "dark")),
            ),
            Number("zoom", "&Text size", 80, 200, 10, " %"),
            Switch("dense", "Compact &rows", tip="More rows of every table fit."),
            Choice(
                "encoding",
                "To&kenizer",
                (("o200k_base", "o200k_base"), ("cl100k_base", "cl100k_base")),
                tip="Used for every number with ≈. Both are OpenAI's; other models differ.",
            ),
        ),
    ),
)

HTTP: tuple[Group, ...] = (
    (
        "Clients that only speak HTTP",
        (
            Switch(
                "http",
                "&Answer at a URL of this machine",
                tip="The process behind all hosts stays while this is on. Each profile has a URL"
                " and a token of its own; no other machine and no web page gets in.",
                step_noun="answering at a URL",
            ),
            Number(
                "http_port", "P&ort", 1_024, 65_535, tip="Choose another port if this one is busy."
            ),
        ),
    ),
)

LOGIN: tuple[Group, ...] = (
    (
        "The process behind all hosts",
        (
            Switch(
                "at_login",
                "&Start with your login",
                tip="It starts with your login and stays until you log out.",
                step_noun="starting with your login",
            ),
        ),
    ),
)

READING: tuple[Group, ...] = (
    (
        "Reading servers",
        (
            Number("scan_at_once", "Servers at &once", 1, 16),
            Number(
                "scan_seconds",
                "&Given up after",
                5,
                3_600,
                5,
                " s of silence",
                step_noun="the time until a silent server is given up",
            ),
            Number(
                "scan_limit_seconds",
                "And in any &case after",
                10,
                7_200,
                10,
                " s",
                step_noun="the time until any server is given up",
            ),
            Switch(
                "scratch_home",
                "With an &empty home folder",
                tip="Servers see none of your files while they are read; some need them.",
            ),
            Switch(
                "requests_new",
                "Have re&quests of new servers written",
                tip="By the model that you chose in Edit, Have requests written. It gets the names"
                " and descriptions of their tools.",
                step_noun="requests of new servers by a model",
            ),
        ),
    ),
    (
        "Kept",
        (
            Number("backups_kept", "Copies of each host's &files", 1, 1_000),
            Number("events_kept", "E&vents in Activity", 1_000, 10_000_000, 1_000),
        ),
    ),
    (
        "Cost",
        (
            Amount(
                "price",
                "Price of a million input to&kens",
                999_999.0,
                "Not set",
                tip="In your currency, of the model that you use. The week in Activity, and"
                " toolcrib usage show, turn tokens into money with it.",
            ),
        ),
    ),
    (
        "Telemetry",
        (
            Switch(
                "telemetry",
                "Send events to an OpenTelemetr&y receiver",
                tip="Counts, times and the names of tools, servers and hosts leave this machine"
                " for the address below, if it is on another one. Arguments and results never do.",
                step_noun="sending events",
            ),
            Text("telemetry_endpoint", "&Receiver", tip="Its address: OTLP over HTTP."),
            Switch(
                "telemetry_texts",
                "With search te&xts and error texts",
                tip="What models searched for, and what failed servers said, are sent, too.",
                step_noun="sending search texts and error texts",
            ),
        ),
    ),
)


def value_of(settings: object, name: str) -> object:
    """Value of a setting by its dotted name."""
    return reduce(getattr, name.split("."), settings)
