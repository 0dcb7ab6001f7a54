"""Commands that run this very code in another Python process, and which version it is."""

import sys

_FIRST = "import sys; sys.path.insert(0, sys.argv.pop(1)); "


def own_python(statement: str, *words: str) -> list[str]:
    """Return a command that runs `statement` with `words` in sys.argv[1:].

    Our code comes first on its path: a folder `app` of another project, in the working folder or
    on PYTHONPATH, would be imported instead of ours.
    """
    return [sys.executable, "-P", "-c", _FIRST + statement, top_folder(), *words]


def top_folder() -> str:
    """Return the folder that holds the packages app, store, ui and resources."""
    from pathlib import Path

    return str(Path(__file__).absolute().parents[2])


def own_version() -> str:
    """Return the version of this installation; "0" where no metadata says it."""
    from importlib.metadata import PackageNotFoundError, version

    for name in ("toolcrib", "toolcrib-core"):  # the second is the wheel without a window
        try:
            return version(name)
        except PackageNotFoundError:
            continue
    return "0"
