"""The verbs of toolcrib-team, and what goes wrong in them as sentences."""

import argparse
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

import psycopg

from app.core.errors import ToolcribError
from app.core.home import home_folder
from app.core.own_code import own_version
from app.core.plain_parser import PlainParser
from app.team_server import administration as admin
from app.team_server import profile_verbs, server_verbs
from app.team_server.configuration import DATABASE
from app.team_server.configuration import from_environ as configured
from app.team_server.sealing import KEY_VARIABLE, Sealer
from store.errors import StoreError
from store.findings import APPROVED, KEPT
from store.team.records import ADMIN, EDITOR, MEMBER, NO_SIGN_IN, SIGN_INS, TEAM_POLICY

_ROLES = (MEMBER, EDITOR, ADMIN)
_ADDRESS = "127.0.0.1:8700"
Run = Callable[[argparse.Namespace], int]
Verbs: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def run(argv: Sequence[str] | None) -> int:
    """Run one verb; 0 when it is done, 1 when it cannot be, 2 for wrong words."""
    args = make_parser().parse_args(argv)
    verb: Run = args.run
    try:
        return verb(args)
    except (ToolcribError, StoreError) as error:
        admin.note(f"toolcrib-team: {error.title}")
        if error.hint:
            admin.note(f"  {error.hint}")
    except psycopg.OperationalError:
        admin.note("toolcrib-team: the database does not answer.")
        admin.note(f"  Check {DATABASE}, and that Postgres runs.")
    except UnicodeEncodeError:
        admin.note("toolcrib-team: an argument is not UTF-8. Write it anew.")
    except (OverflowError, psycopg.DataError):  # what Postgres calls a value out of its range
        admin.note("toolcrib-team: a number is out of range. Give a smaller one, not below 0.")
    return 1


def make_parser() -> argparse.ArgumentParser:
    """The parser of all verbs."""
    parser: argparse.ArgumentParser = PlainParser(
        prog="toolcrib-team",
        description="One reviewed catalogue of MCP tools for a team, and its gateway.",
    )
    version = f"toolcrib-team {own_version()}"
    parser.add_argument("--version", action="version", version=version)
    verbs = parser.add_subparsers(required=True, metavar="VERB")
    _add_running(verbs)
    _add_people(verbs)
    _add_servers(verbs)
    _add_reviews(verbs)
    _add_profiles(verbs)
    _add_log(verbs)
    return parser


def _group(verbs: Verbs, name: str, text: str) -> Verbs:
    return verbs.add_parser(name, help=text).add_subparsers(required=True, metavar="ACTION")


def _verb(verbs: Verbs, name: str, text: str, run: Run) -> argparse.ArgumentParser:
    made = verbs.add_parser(name, help=text, description=text)
    made.set_defaults(run=run)
    return made


def _verb_of(verbs: Verbs, name: str, text: str, run: Run) -> argparse.ArgumentParser:
    """A verb for one organisation."""
    made = _verb(verbs, name, text, run)
    made.add_argument("--organisation", required=True, help="its name")
    return made


def _add_running(verbs: Verbs) -> None:
    serve = _verb(verbs, "serve", "serve members until SIGTERM", _serve)
    serve.add_argument(
        "--listen", default=_ADDRESS, metavar="ADDRESS:PORT", help=f"default: {_ADDRESS}"
    )
    serve.add_argument(
        "--drain",
        type=float,
        default=5.0,
        metavar="SECONDS",
        help="from failing readiness to the last new connection (default: 5)",
    )
    _verb(verbs, "migrate", "bring the database to this version's schema", admin.run_migrate)
    _verb(verbs, "check", "check database, schema, key, address and issuers", admin.run_check)
    importing = _verb_of(verbs, "import", "a local catalogue becomes the team's", admin.run_import)
    importing.add_argument("--member", required=True, help="an editor or admin of it")
    importing.add_argument(
        "--home",
        type=Path,
        default=Path(home_folder()),
        metavar="DIR",
        help="data folder of the local catalogue (default: yours)",
    )
    index = _verb(verbs, "index", "build what large organisations' searches need", admin.run_index)
    index.add_argument("--organisation", help="this one alone")
    index.add_argument(
        "--memory", default="1GB", help="for building; an index should fit into it (default: 1GB)"
    )
    index.add_argument(
        "--workers", type=int, default=1, help="processes beside the first (default: 1)"
    )
    trial = _verb(verbs, "trial", "start a whole team server with a sample organisation", _trial)
    trial.add_argument(
        "--folder",
        type=Path,
        default=Path(home_folder()) / "team-trial",
        metavar="DIR",
        help="Postgres and key are kept here (default: team-trial in your data folder)",
    )
    trial.add_argument("--port", type=int, default=8700, help="default: 8700; 0 for any free port")


def _add_people(verbs: Verbs) -> None:
    user = _group(verbs, "user", "add, change, list and remove members")
    add = _verb_of(user, "add", "add a member; makes the organisation too", admin.run_user_add)
    add.add_argument("name", help="of the member")
    add.add_argument("--role", choices=_ROLES, default=MEMBER, help=f"default: {MEMBER}")
    add.add_argument("--group", action="append", default=[], help="again for each group")
    add.add_argument("--issuer", default="", help="OIDC issuer that knows this member")
    add.add_argument("--subject", default="", help="the issuer's subject of this member")
    change = _verb_of(user, "change", "give another role or other groups", admin.run_user_change)
    change.add_argument("name", help="of the member")
    change.add_argument("--role", choices=_ROLES, help="the new role")
    groups = change.add_mutually_exclusive_group()
    groups.add_argument("--group", action="append", help="again for each group; replaces them all")
    groups.add_argument("--no-group", action="store_true", help="take every group away")
    remove = _verb_of(user, "remove", "end a member's access at once", admin.run_user_remove)
    remove.add_argument("name", help="of the member")
    _verb_of(user, "list", "list members", admin.run_user_list)
    token = _group(verbs, "token", "issue, list and revoke static tokens")
    issue = _verb_of(token, "issue", "print a new token, once", admin.run_token_issue)
    issue.add_argument("member", help="who may use it")
    issue.add_argument("--name", default="token", help="to tell tokens apart (default: token)")
    issue.add_argument(
        "--days", type=int, default=90, help="until it expires (default: 90); 0: never"
    )
    issue.add_argument(
        "--allow", action="append", metavar="SERVER/TOOL", help="this tool only, for an agent"
    )
    tokens = _verb_of(token, "list", "list a member's tokens", admin.run_token_list)
    tokens.add_argument("member", help="whose they are")
    revoke = _verb(token, "revoke", "end a token at once", admin.run_token_revoke)
    revoke.add_argument("id", type=int, help="its number in toolcrib-team token list")
    _verb(token, "new-key", f"print a key for {KEY_VARIABLE}", admin.run_new_key)


def _add_servers(verbs: Verbs) -> None:
    server = _group(verbs, "server", "add, read, change, list and remove servers")
    add = _verb_of(server, "add", "add a server and read its tools", server_verbs.run_server_add)
    add.add_argument("name", help="of the server")
    place = add.add_mutually_exclusive_group(required=True)
    place.add_argument("--url", help="where it answers")
    place.add_argument("--program", help="name of a program that this operator lists")
    add.add_argument(
        "--sign-in",
        choices=SIGN_INS,
        default=NO_SIGN_IN,
        help=f"who signs in (default: {NO_SIGN_IN})",
    )
    add.add_argument("--group", action="append", help="only members of this group see it")
    credential = _verb_of(
        server,
        "credential",
        "keep the organisation's credential",
        server_verbs.run_server_credential,
    )
    credential.add_argument("name", help="of the server")
    credential.add_argument(
        "--header", default="Authorization", help="that carries it (default: Authorization)"
    )
    _verb_of(server, "list", "list servers with their tools", server_verbs.run_server_list)
    read = _verb_of(server, "read", "read a server's tools again", server_verbs.run_server_read)
    change = _verb_of(
        server, "change", "who sees it, on or off for all", server_verbs.run_server_change
    )
    seen = change.add_mutually_exclusive_group()
    seen.add_argument("--group", action="append", help="only members of these groups see it")
    seen.add_argument("--everyone", action="store_true", help="all members see it")
    state = change.add_mutually_exclusive_group()
    state.add_argument("--on", dest="state", action="store_const", const=True, help="for all")
    state.add_argument("--off", dest="state", action="store_const", const=False, help="for all")
    remove = _verb_of(
        server, "remove", "with its tools and credentials", server_verbs.run_server_remove
    )
    for one in (read, change, remove):
        one.add_argument("name", help="of the server")


def _add_reviews(verbs: Verbs) -> None:
    review = _group(verbs, "review", "read tools that are held, and decide about them")
    _verb_of(review, "list", "list tools that are held", server_verbs.run_review_list)
    show = _verb_of(review, "show", "print a tool's definition", server_verbs.run_review_show)
    approve = _verb_of(review, "approve", "members get it", server_verbs.run_review_decide)
    keep = _verb_of(review, "keep", "members do not get it", server_verbs.run_review_decide)
    for one, decision in ((approve, APPROVED), (keep, KEPT)):
        one.set_defaults(decision=decision)
        one.add_argument("--text", required=True, help="beginning of the text's hash, see: show")
        one.add_argument("--member", required=True, help="an editor or admin, who decides")
        one.add_argument("--reason", default="", help="for the log")
    for one in (show, approve, keep):
        one.add_argument("tool", metavar="SERVER/TOOL", help="as in review list")


def _add_profiles(verbs: Verbs) -> None:
    profile = _group(verbs, "profile", "list and remove the team's profiles, change who gets them")
    _verb_of(profile, "list", "list profiles", profile_verbs.run_profile_list)
    change = _verb_of(profile, "change", "who gets it", profile_verbs.run_profile_change)
    seen = change.add_mutually_exclusive_group(required=True)
    seen.add_argument("--group", action="append", help="only members of these groups get it")
    seen.add_argument("--everyone", action="store_true", help="all members get it")
    remove = _verb_of(
        profile, "remove", "take it from the members", profile_verbs.run_profile_remove
    )
    policy = _group(verbs, "policy", "policy files that narrow the team's profiles")
    _verb_of(policy, "list", "list policies with their texts", profile_verbs.run_policy_list)
    save = _verb_of(policy, "save", "let a policy file count", profile_verbs.run_policy_save)
    save.add_argument("file", type=Path, help="a policy file, as docs/policy.md describes it")
    save.add_argument(
        "--name", default=TEAM_POLICY, help="the profile that it is for; else it is for all"
    )
    drop = _verb_of(policy, "remove", "let it count no more", profile_verbs.run_policy_remove)
    drop.add_argument("--name", default=TEAM_POLICY, help="as it was saved")
    for one in (change, remove):
        one.add_argument("name", help="of the profile")


def _add_log(verbs: Verbs) -> None:
    log = _verb_of(verbs, "audit", "list who changed what", admin.run_audit)
    log.add_argument("--after", type=int, default=0, help="entries after this number")
    log.add_argument("--most", type=int, default=500, help="entries at most (default: 500)")
    counts = _verb_of(verbs, "use", "count searches and calls, by tool", admin.run_use)
    counts.add_argument("--days", type=int, default=30, help="of the last days (default: 30)")
    organisation = _group(verbs, "organisation", "list organisations, end one's access")
    _verb(organisation, "list", "list organisations", admin.run_organisation_list)
    remove = _verb(organisation, "remove", "end all access of one", admin.run_organisation_remove)
    remove.add_argument("name", help="of the organisation")
    remove.add_argument("--confirm", default="", metavar="NAME", help="its name once more")


def _serve(args: argparse.Namespace) -> int:
    from app.team_server.serving import listen, make, serve

    given = configured(os.environ)
    sealer = Sealer.from_environ(os.environ)
    address, _, port = args.listen.rpartition(":")
    if not port.isdigit():
        raise ToolcribError("--listen has no port.", f"Write it like {_ADDRESS}")
    try:
        own = listen(address.strip("[]"), int(port))
    except OSError as error:
        raise ToolcribError(
            f"{args.listen} cannot be had: {error.strerror}.", "Choose another with --listen."
        ) from error
    replica = make(given, sealer)
    admin.say(f"Serving {given.url} at {address}:{own.getsockname()[1]}")
    serve(replica, own, drain_seconds=args.drain)
    return 0


def _trial(args: argparse.Namespace) -> int:
    from app.team_server.sampling import run_trial

    return run_trial(args.folder, args.port)
