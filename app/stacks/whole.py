"""A stack as a whole: a profile's servers and policy out of the store, and into another one."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import apsw

from app.catalog.catalog import load_catalog
from app.core.context import AppContext
from app.core.errors import ToolcribError
from app.core.plain_read import read_plain
from app.core.safe_write import make_file
from app.export.policy_writing import exported, use_file
from app.market.stack import LINK, MOST_BYTES, Stack, read_stack
from app.policy import profiles
from app.policy.policy_file import parse_policy
from app.registry.stacks import add_stack, launches, make_stack


def profile_stack(
    ctx: AppContext, db: apsw.Connection, profile: str, chosen: Sequence[str], name: str
) -> Stack:
    """The stack of a profile: its servers, and its values as a policy."""
    catalog = load_catalog(db, profile, ctx.settings.encoding)
    names = chosen or [server.name for server in catalog.servers]
    policy = exported(db, profile).decode()
    return make_stack(ctx, db, name or profile, names, policy)


def write_stack(stack: Stack, file: Path) -> None:
    """Write a stack to a new file; ToolcribError where it cannot be."""
    try:
        make_file(file, stack.to_bytes(), mode=0o644)
    except FileExistsError as error:
        raise ToolcribError(f"{file} exists already.", "Choose another name.") from error
    except OSError as error:
        raise ToolcribError(f"{file} cannot be written: {error.strerror}.") from error


def load_stack(text: str) -> Stack:
    """The stack in a file, or in a link."""
    if text.startswith(LINK):
        return read_stack(text)
    try:
        return read_stack(read_plain(text, MOST_BYTES + 1))
    except OSError as error:
        raise ToolcribError(f"{text} cannot be read: {error.strerror}.") from error


def open_stack(
    ctx: AppContext,
    db: apsw.Connection,
    stack: Stack,
    values: Mapping[str, Mapping[str, str]],
    profile: str = "",
) -> str:
    """Register its servers and make its profile, which follows its policy; the profile's name."""
    wanted = profile or stack.name
    if stack.policy:
        parse_policy(stack.policy.encode(), f"The policy of {stack.name}")
    problem = profiles.name_problem(wanted, profiles.names(db))
    if problem:
        raise ToolcribError(problem, "Nothing was added. Choose another --profile.")
    launches(stack, values)
    add_stack(ctx, db, stack, values)
    profiles.create(db, wanted)
    folder = ctx.paths.home / "stacks"
    folder.mkdir(parents=True, exist_ok=True)
    taken = {one.name for one in folder.iterdir()}
    stem = "".join(char if char.isalnum() else "-" for char in wanted)
    names = (f"{stem}{n or ''}.toml" for n in range(len(taken) + 1))
    file = folder / next(name for name in names if name not in taken)
    make_file(file, stack.policy.encode() or b"version = 1\n", mode=0o644)
    use_file(db, wanted, file)
    return wanted
