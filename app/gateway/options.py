"""The gateway's command line, read by adapters and by the backend alike: builtins only."""

from store.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

USAGE = (
    "usage: toolcrib-gateway --profile NAME [--servers NAME,NAME...]\n"
    "       toolcrib-gateway --profile NAME --server NAME [-- COMMAND ARGS...]\n"
    "       toolcrib-gateway hook HOST [--profile NAME] [--home FOLDER]\n"
    "       toolcrib-gateway reach http|sse URL -- COMMAND ARGS...\n"
    "       toolcrib-gateway serve\n"
)
HELP = f"""{USAGE}
What a host starts instead of its servers. Toolcrib writes these lines; none has to be typed.

  --profile NAME  a menu of the profile's tools; with --servers, of these servers only
  --server NAME   the tools of one server that are on; after -- the command that starts it
  hook HOST       tools suggested for the prompt on stdin (toolcrib hook install HOST)
  reach           a server that COMMAND starts and that answers at URL, on stdio
  serve           the process that all hosts share (toolcrib backend status)
"""
SERVE, HOOK, REACH = "serve", "hook", "reach"


class Options:
    """Options of one host's entry.

    `behind` names the servers of the profile that the host may reach; None, as entries of earlier
    builds have it, is all of them.
    """

    __slots__ = ("behind", "command", "profile", "server")

    def __init__(
        self,
        profile: str,
        server: str,
        command: "Sequence[str]",
        behind: "Sequence[str] | None" = None,
    ) -> None:
        self.profile = profile
        self.server = server
        self.command = tuple(command)
        self.behind = None if behind is None else tuple(behind)


def parse(argv: "Sequence[str]") -> Options:
    """The options; raises SystemExit with what is wrong."""
    words = list(argv)
    command: list[str] = []
    if "--" in words:
        cut = words.index("--")
        words, command = words[:cut], words[cut + 1 :]
    values: dict[str, str | None] = {"--profile": "default", "--server": "", "--servers": None}
    while words:
        name, equals, value = words.pop(0).partition("=")
        if name not in values or (not equals and not words):
            raise SystemExit(USAGE)
        values[name] = value if equals else words.pop(0)
    if command and not values["--server"]:
        raise SystemExit(USAGE + "A command after -- needs --server NAME.\n")
    names = values["--servers"]
    behind = None if names is None else [name for name in names.split(",") if name]
    return Options(values["--profile"] or "", values["--server"] or "", command, behind)
