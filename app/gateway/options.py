"""The gateway's command line, read by adapters and by the backend alike: builtins only."""

from store.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

USAGE = (
    "usage: toolcrib-gateway --profile NAME [--server NAME] [-- COMMAND ARGS...]\n"
    "       toolcrib-gateway hook HOST [--profile NAME] [--home FOLDER]\n"
    "       toolcrib-gateway serve\n"
)
SERVE, HOOK = "serve", "hook"


class Options:
    """What one host's entry wants served."""

    __slots__ = ("command", "profile", "server")

    def __init__(self, profile: str, server: str, command: "Sequence[str]") -> None:
        self.profile = profile
        self.server = server
        self.command = tuple(command)


def parse(argv: "Sequence[str]") -> Options:
    """The options; raises SystemExit with what is wrong."""
    words = list(argv)
    command: list[str] = []
    if "--" in words:
        cut = words.index("--")
        words, command = words[:cut], words[cut + 1 :]
    values = {"--profile": "default", "--server": ""}
    while words:
        name, equals, value = words.pop(0).partition("=")
        if name not in values or (not equals and not words):
            raise SystemExit(USAGE)
        values[name] = value if equals else words.pop(0)
    if command and not values["--server"]:
        raise SystemExit(USAGE + "A command after -- needs --server NAME.\n")
    return Options(values["--profile"], values["--server"], command)
