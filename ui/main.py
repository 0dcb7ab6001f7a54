"""The `toolcrib` command: with arguments the command line, with none the window."""

import os
import sys
from collections.abc import Sequence

NO_DISPLAY = 3  # exit code
INTERRUPTED = 130
_OFFSCREEN = {"QT_QPA_PLATFORM": "offscreen"}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line or the window; returns the exit code."""
    try:
        return _run(list(sys.argv[1:] if argv is None else argv))
    except KeyboardInterrupt:  # while the window's modules are imported
        sys.stderr.write("toolcrib: stopped.\n")
        return INTERRUPTED


def _run(args: list[str]) -> int:
    if args[:1] == ["pictures"]:
        return pictures(args[1:])
    if args:
        from app.cli.program import main as run_verb

        return run_verb(args)
    from app.system.desktop import libraries_problem
    from ui.display import display_problem

    if problem := libraries_problem(os.environ) or display_problem(os.environ, sys.platform):
        unseen = libraries_problem(_OFFSCREEN)
        save = "" if unseen else ", or save pictures of the window with: toolcrib pictures FOLDER"
        sys.stderr.write(f"{problem}\nUse the command line instead (toolcrib --help){save}\n")
        return NO_DISPLAY
    from ui.application import run_window

    return run_window()


def pictures(argv: Sequence[str]) -> int:
    """Save pictures of the window; works without a display."""
    import argparse
    from pathlib import Path

    parser = argparse.ArgumentParser(
        prog="toolcrib pictures", description="Save each page of the window, light and dark."
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--query", default="", help="what to try in the Playground")
    options = parser.parse_args(argv)
    from app.core.context import AppContext
    from app.core.errors import ToolcribError
    from app.system.desktop import libraries_problem

    if problem := libraries_problem(_OFFSCREEN):
        sys.stderr.write(f"{problem}\n")
        return NO_DISPLAY
    from ui.pictures import save_pictures

    try:
        ctx = AppContext.default()
    except ToolcribError as error:
        sys.stderr.write(f"toolcrib: {error.title}\n")
        return 1
    for file in save_pictures(ctx, options.folder, query=options.query):
        sys.stdout.write(f"{file}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
