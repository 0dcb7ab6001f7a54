"""Man page and shell completions, made from the parser: `python packaging/manual.py FOLDER`.

The folder is a `share`: a package puts it into /usr, a bundle's user into ~/.local.
"""

import argparse
import sys
from pathlib import Path

import shtab

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from app.cli.parser import make_parser  # noqa: E402 - needs the path above
from app.core.own_code import own_version  # noqa: E402

COMPLETIONS = {
    "bash": "bash-completion/completions/toolcrib",
    "zsh": "zsh/site-functions/_toolcrib",
}


def main(share: Path) -> int:
    """Write the page and the completions below `share`."""
    parser = make_parser()
    for shell, place in COMPLETIONS.items():
        put(share / place, shtab.complete(parser, shell=shell))
    put(share / "man" / "man1" / "toolcrib.1", page(parser))
    return 0


def put(file: Path, text: str) -> None:
    """Write a file below folders that may be missing."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def page(parser: argparse.ArgumentParser) -> str:
    """Return the manual page: what the parser's help says, of every verb."""
    lines = [
        f'.TH TOOLCRIB 1 "" "Toolcrib {own_version()}"',
        ".SH NAME",
        f"toolcrib \\- {plain(parser.description or '')}",
        ".SH SYNOPSIS",
        ".B toolcrib",
        "[VERB ...]",
        ".SH DESCRIPTION",
        *fixed(parser.epilog or ""),
        ".SH VERBS",
    ]
    for name, verb in verbs(parser).items():
        lines += [f".SS {name}", *fixed(verb.format_help())]
    return "\n".join(lines) + "\n"


def verbs(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """Return the parser of each verb."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    raise SystemExit("The parser has no verbs.")


def fixed(text: str) -> list[str]:
    """Return lines of roff that show a text as it is."""
    return [".nf", *(plain(line) for line in text.splitlines()), ".fi"]


def plain(line: str) -> str:
    """Return a line without what roff would read as a command."""
    escaped = line.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
