"""Gateways in front of a server behind a sign-in: tokens are used and renewed, nobody is asked."""

import json
import time
from threading import Event

import httpx2
import pytest
from guarded import Browser, running

from app.core.context import AppContext
from app.core.paths import Paths
from app.core.settings import Settings
from app.hosts.launch import LaunchSpec
from app.registry.importing import add_server
from app.registry.register import targets
from app.registry.scan import ScanOptions, scan
from app.registry.signing import sign_in, sign_out
from app.secrets.secret_store import SecretStore
from app.signin.grant import kept
from store import profiles, servers
from store.connection import transaction

ENDED = "Sign in to linear in Toolcrib: its sign-in has ended."


both = pytest.mark.parametrize("guarded", ["http", "sse"], indirect=True)


@pytest.fixture(scope="module")
def guarded(request):
    with running(getattr(request, "param", "http")) as guarded:
        yield guarded


@pytest.fixture
def signed_in(guarded, home, encoderless):
    """A store with the tools of the server, and the sign-in that they were read with."""
    guarded.control(life=3600, down=False, needs="")
    ctx = AppContext(Paths(home, home / "models"), Settings())
    ctx.paths.create()
    db = ctx.open_store()
    add_server(ctx, db, "linear", LaunchSpec("http", url=guarded.url))
    target = targets(ctx, db)[0]
    browser = Browser()
    assert sign_in(ctx, target, open_page=browser.open, cancel=Event())
    browser.close()
    report = scan(ctx, [target], ScanOptions(prepare_encoder=False))
    assert report.servers[0].status == "read"
    db.close()
    return ctx


def start(gateway, *more):
    host = gateway(*more)
    host.initialize()
    return host


def called(host, tool="add", **arguments):
    """The text of a call's result, and whether it is an error."""
    result = host.run(f"linear/{tool}", arguments)
    return result["content"][0]["text"], result.get("isError", False)


def again(host, **arguments):
    """The text of the first call that is answered, while a session that ended is opened anew."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        text, wrong = called(host, **arguments)
        if not wrong:
            return text
    return text


def test_kept_tokens_are_used(guarded, signed_in, gateway):
    assert called(start(gateway), a=1, b=2) == ("3", False)


@both
def test_ended_tokens_are_renewed_and_kept_while_it_runs(guarded, signed_in, gateway):
    host = start(gateway)
    assert called(host, a=1, b=2) == ("3", False)
    for number in range(3):
        guarded.control(end_access=True)
        assert called(host, a=number, b=2) == (str(number + 2), False)
    fresh = kept(SecretStore.open(signed_in.paths), "linear")
    text, _ = called(host, "echo_token")
    assert text == f"Bearer {fresh.access_token}"


def test_tokens_of_one_second_are_renewed_without_a_refusal(guarded, signed_in, gateway):
    guarded.control(life=1, end_access=True)
    host = start(gateway)
    assert called(host, a=1, b=1) == ("2", False)
    before, until, number = guarded.control(), time.monotonic() + 30, 1
    while guarded.control()["refreshed"] < before["refreshed"] + 2 and time.monotonic() < until:
        number += 1
        assert called(host, a=number, b=1) == (str(number + 1), False)
    after = guarded.control()
    assert after["refreshed"] >= before["refreshed"] + 2 and after["reused"] == before["reused"]


def test_two_gateways_share_one_sign_in(guarded, signed_in, gateway):
    hosts = [start(gateway), start(gateway)]
    before = guarded.control()["reused"]
    for _ in range(3):
        guarded.control(end_access=True)
        assert [called(host, a=2, b=2) for host in hosts] == [("4", False)] * 2
    assert guarded.control()["reused"] == before
    assert json.loads(signed_in.paths.secrets.read_text())


@both
def test_a_sign_in_that_ended_is_one_clear_error_until_somebody_signs_in(
    guarded, signed_in, gateway
):
    host = start(gateway)
    assert called(host, a=1, b=2) == ("3", False)
    before = guarded.control(end_all=True)["authorized"]
    assert called(host, a=1, b=3) == (ENDED, True)
    assert guarded.control()["authorized"] == before  # nobody was asked
    db = signed_in.open_store()
    browser = Browser()
    sign_in(signed_in, targets(signed_in, db)[0], open_page=browser.open, cancel=Event())
    browser.close()
    db.close()
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        text, wrong = called(host, a=1, b=4)
        if not wrong:
            break
    assert (text, wrong) == ("5", False)


def test_a_gateway_that_starts_without_tokens_says_where_to_sign_in(guarded, signed_in, gateway):
    SecretStore.open(signed_in.paths).delete("sign-in/linear")
    text, wrong = called(start(gateway), a=1, b=2)
    assert (text, wrong) == ("Sign in to linear in Toolcrib: it asks for a sign-in.", True)


def test_a_silent_authorization_server_is_another_error(guarded, signed_in, gateway):
    guarded.control(end_access=True, down=True)
    text, wrong = called(start(gateway), a=1, b=2)
    assert wrong and "could not be renewed now; try again later" in text
    assert not text.startswith("Sign in")


def test_no_token_reaches_the_journal_or_the_store(guarded, signed_in, gateway):
    host = start(gateway)
    called(host, a=1, b=2)
    guarded.control(end_all=True)
    called(host, a=1, b=3)
    host.close()
    home = signed_in.paths.home
    files = [f for f in home.rglob("*") if f.is_file() and f != signed_in.paths.secrets]
    assert b"tok-" not in b"".join(f.read_bytes() for f in files)


def test_one_server_of_its_own_in_pruned_mode(guarded, signed_in, gateway):
    host = start(gateway, "--server", "linear")
    result = host.call("add", {"a": 1, "b": 2})
    assert result["content"][0]["text"] == "3"


def test_a_sign_in_that_ended_shuts_the_precondition_until_the_next_reading(
    guarded, signed_in, gateway
):
    db = signed_in.open_store()
    rules = {"preconditions": {"linear/add": ["authenticated(linear)"]}}
    with transaction(db):
        profiles.save_settings(db, profiles.by_name(db, "default").id, rules)
    guarded.control(end_all=True)
    host = start(gateway)
    assert called(host, a=1, b=2)[0].startswith("Sign in to linear")
    assert "not signed in for linear" in called(host, a=1, b=2)[0]
    with transaction(db):
        db.execute("UPDATE servers SET read_at = read_at + 1 WHERE name = 'linear'")
    db.close()
    host.until(lambda: called(host, a=1, b=2)[0].startswith("Sign in to linear"))


def test_a_sign_in_meets_the_precondition_of_being_authenticated(guarded, signed_in, gateway):
    db = signed_in.open_store()
    rules = {"preconditions": {"linear/add": ["authenticated(linear)"]}}
    with transaction(db):
        profiles.save_settings(db, profiles.by_name(db, "default").id, rules)
    host = start(gateway)
    assert called(host, a=1, b=2) == ("3", False)
    sign_out(signed_in, db, servers.by_name(db, "linear"))
    db.close()
    text, wrong = called(start(gateway), a=1, b=2)
    assert wrong and "not signed in for linear" in text


@both
def test_a_call_that_needs_more_rights_says_so_and_the_next_sign_in_asks_for_them(
    guarded, signed_in, gateway
):
    host = start(gateway)
    assert called(host, a=1, b=2) == ("3", False)
    guarded.control(needs="write")
    more = "Sign in to linear in Toolcrib: it asks for more rights (write)."
    assert called(host, a=1, b=3) == (more, True)
    guarded.control(needs="")
    assert called(host, a=1, b=4) == ("5", False)  # the rest of the server goes on
    guarded.control(needs="write", end_access=True)  # a renewal forgets neither
    assert called(host, a=1, b=5) == (more, True)
    db = signed_in.open_store()
    browser = Browser()
    sign_in(signed_in, targets(signed_in, db)[0], open_page=browser.open, cancel=Event())
    browser.close()
    db.close()
    assert httpx2.URL(browser.opened[0]).params["scope"].split() == ["tools", "write"]
    grant = kept(SecretStore.open(signed_in.paths), "linear")
    assert (grant.scope, grant.wanted) == ("tools write", "")
    assert called(host, a=1, b=6) == (
        "There is a new sign-in to linear: call it once more.",
        True,
    )
    assert again(host, a=1, b=7) == "8"
    grant = kept(SecretStore.open(signed_in.paths), "linear")
    assert (grant.scope, grant.wanted) == ("tools write", "")


def test_rights_that_nobody_gives_do_not_stop_a_sign_in(guarded, signed_in, gateway):
    host = start(gateway)
    guarded.control(needs="bogus")
    text, wrong = called(host, a=1, b=2)
    assert wrong and "more rights (bogus)" in text
    guarded.control(needs="")
    db = signed_in.open_store()
    browser = Browser()
    assert sign_in(signed_in, targets(signed_in, db)[0], open_page=browser.open, cancel=Event())
    browser.close()
    db.close()
    assert kept(SecretStore.open(signed_in.paths), "linear").wanted == ""
