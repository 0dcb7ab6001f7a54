"""Commands in hosts' files: found on the PATH people have, with the variables they get."""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from app.core.errors import ToolcribError
from app.core.home import HOME_VARIABLE

OWN_VARIABLES = (HOME_VARIABLE, "TOOLCRIB_MODELS")
_WINDOWS = sys.platform == "win32"


def child_environment(
    environ: Mapping[str, str], extra: Mapping[str, str], *, windows: bool = _WINDOWS
) -> dict[str, str]:
    """Environment of a server: ours without our own variables, a full PATH, then `extra`.

    Windows knows a variable in any case of its letters: the value of `extra` takes the others out.
    """
    env = {name: value for name, value in environ.items() if name not in OWN_VARIABLES}
    for name in ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"):
        if getattr(sys, "frozen", False):  # a PyInstaller folder points these at itself
            original = env.pop(f"{name}_ORIG", None)
            env.pop(name, None)
            if original:
                env[name] = original
    env["PATH"] = search_path(environ)
    if windows:
        given = {name.upper() for name in extra}
        env = {name: value for name, value in env.items() if name.upper() not in given}
    env.update(extra)
    return env


def variable(env: Mapping[str, str], name: str, *, windows: bool = _WINDOWS) -> str:
    """Return a variable's value, "" where it is not set; on Windows in any case of its letters."""
    if not windows:
        return env.get(name, "")
    return next((value for key, value in env.items() if key.upper() == name.upper()), "")


def search_path(environ: Mapping[str, str]) -> str:
    """PATH and the usual folders of node, uv and the like that a window started by icon lacks."""
    given = [part for part in environ.get("PATH", os.defpath).split(os.pathsep) if part]
    more = [str(path) for path in _usual_folders(environ) if path.is_dir()]
    return os.pathsep.join(dict.fromkeys([*given, *more]))


_PARTS = {  # what is installed to have a command
    "uv": ("uv", "uvx"),
    "Node.js": ("node", "npm", "npx"),
    "Bun": ("bun", "bunx"),
    "Docker": ("docker",),
    "Python": ("python", "python3"),
}


def find_command(command: str, env: Mapping[str, str], cwd: str = "") -> str:
    """The absolute path of a command, found as a shell in `cwd` would; raises ToolcribError."""
    path = Path(command).expanduser()
    if cwd and len(path.parts) > 1 and not path.is_absolute():
        path = Path(cwd).expanduser() / path
    folders = variable(env, "PATH") or os.defpath
    program = which(str(path), folders, endings(env)) if command else None
    if program:
        return str(Path(program).absolute())
    if len(path.parts) > 1 and path.is_file():
        raise ToolcribError(f"{command} may not be run.", "Make it executable.")
    part = next((f" {part}" for part, names in _PARTS.items() if path.stem in names), "")
    hint = f"Install{part or ' it'}, or give its full path in the host's file."
    raise ToolcribError(f"{command or 'The command'} was not found.", hint)


def endings(env: Mapping[str, str], *, windows: bool = _WINDOWS) -> tuple[str, ...]:
    """Return what a command's name may lack of its file's: nothing but on Windows (PATHEXT)."""
    if not windows:
        return ("",)
    given = variable(env, "PATHEXT", windows=True) or ".COM;.EXE;.BAT;.CMD"
    return tuple(one.lower() for one in given.split(";") if one)


def which(program: str, path: str, known: Sequence[str]) -> str | None:
    """Return the file that a command's name means: the first of a folder, by `known` endings.

    Unlike shutil.which it is light, and on Windows it does not look into the folder that a host
    happens to work in first, where a project could have put an npx.cmd.
    """
    named = ("",) if program.lower().endswith(tuple(filter(None, known))) else known
    folders = [""] if len(Path(program).parts) > 1 else path.split(os.pathsep)
    for file in (Path(folder, program + end) for folder in folders for end in named):
        if os.access(file, os.X_OK) and not file.is_dir():
            return str(file)
    return None


def _usual_folders(environ: Mapping[str, str]) -> Iterator[Path]:
    home = Path(environ.get("USERPROFILE" if _WINDOWS else "HOME", "") or Path.home())
    if _WINDOWS:
        yield Path(environ.get("APPDATA", "")) / "npm"
        yield Path(environ.get("ProgramFiles", "C:/Program Files")) / "nodejs"
    else:
        yield from map(Path, ("/opt/homebrew/bin", "/usr/local/bin", "/usr/bin", "/bin"))
    for below in (".local/bin", ".cargo/bin", ".bun/bin", ".deno/bin", ".volta/bin", "go/bin"):
        yield home / below
    for below in (".asdf/shims", ".local/share/mise/shims", ".nodenv/shims", ".pyenv/shims"):
        yield home / below
    versions = home / ".nvm/versions/node"
    if versions.is_dir():
        yield from (path / "bin" for path in sorted(versions.iterdir(), key=_version, reverse=True))


def _version(path: Path) -> tuple[int, ...]:
    parts = path.name.lstrip("v").split(".")
    return tuple(int(part) if part.isdigit() else 0 for part in parts)
