"""Tokens that end are renewed, once, by whoever comes first, and kept."""

import subprocess
import sys
import threading
import time
from dataclasses import replace

import anyio
import httpx2
import pytest

from app.core.errors import ToolcribError
from app.signin.auth import StoredAuth
from app.signin.grant import is_safe, kept, load, save
from app.signin.renewal import EndedError, give_back, renew


def ask(guarded, auth, times=1):
    """Statuses of requests with that auth."""

    async def go():
        async with httpx2.AsyncClient(auth=auth) as client:
            return [(await client.post(guarded.url, json={})).status_code for _ in range(times)]

    return anyio.run(go)


@pytest.fixture
def auth(guarded, store):
    return StoredAuth(store, "guarded", guarded.url)


def test_kept_tokens_are_sent(guarded, signed_in, auth):
    before = guarded.control()["refreshed"]
    assert 401 not in ask(guarded, auth)
    assert guarded.control()["refreshed"] == before and auth.signed_in and not auth.problem


def test_an_ended_token_is_renewed_before_it_is_sent(guarded, signed_in, store):
    clock = time.time() + 4000
    auth = StoredAuth(store, "guarded", guarded.url, clock=lambda: clock)
    before = guarded.control()["refreshed"]
    assert 401 not in ask(guarded, auth, times=1)
    assert guarded.control()["refreshed"] == before + 1
    fresh = load(store, "guarded", guarded.url)
    assert fresh.access_token != signed_in.access_token
    assert fresh.refresh_token != signed_in.refresh_token and fresh.expires_at > clock


def test_a_life_of_one_second_is_renewed_again_and_again(guarded, browser, store, signed_in):
    guarded.control(life=1)
    renew(store, "guarded", signed_in)
    auth = StoredAuth(store, "guarded", guarded.url)
    before = guarded.control()["refreshed"]

    async def go():
        found, tokens = [], set()
        with anyio.fail_after(30):
            async with httpx2.AsyncClient(auth=auth) as client:
                while len(tokens) < 3:
                    found.append((await client.post(guarded.url, json={})).status_code)
                    tokens.add(load(store, "guarded", guarded.url).access_token)
        return found

    assert 401 not in anyio.run(go)
    assert guarded.control()["refreshed"] >= before + 2
    assert guarded.control()["reused"] == 0


def test_what_another_process_kept_is_renewed_when_it_has_ended_too(guarded, signed_in, store):
    other = renew(store, "guarded", signed_in)
    fresh = renew(store, "guarded", signed_in, clock=lambda: other.expires_at)
    assert fresh.access_token not in (signed_in.access_token, other.access_token)
    assert renew(store, "guarded", signed_in) == fresh  # good for a while


def test_what_another_process_kept_is_renewed_when_it_is_refused(guarded, signed_in, store):
    now = [time.time()]
    auth = StoredAuth(store, "guarded", guarded.url, clock=lambda: now[0])
    assert 401 not in ask(guarded, auth)
    now[0] = signed_in.expires_at
    renew(store, "guarded", signed_in, clock=lambda: now[0])
    before = guarded.control(end_access=True)["refreshed"]
    assert 401 not in ask(guarded, auth)
    assert guarded.control()["refreshed"] == before + 1


def test_a_token_that_was_withdrawn_early_is_renewed_at_the_refusal(guarded, signed_in, auth):
    guarded.control(end_access=True)
    assert 401 not in ask(guarded, auth)


def test_a_withdrawn_sign_in_asks_for_a_person_once_and_is_forgotten(
    guarded, signed_in, auth, store
):
    guarded.control(end_all=True)
    refused = []
    auth.on_refused = lambda: refused.append(auth.problem)
    assert ask(guarded, auth) == [401]
    assert auth.needs_person and refused == ["its sign-in has ended."]
    assert kept(store, "guarded") is None


def test_a_silent_authorization_server_keeps_the_sign_in(guarded, signed_in, auth, store):
    guarded.control(end_access=True, down=True)
    assert ask(guarded, auth) == [401]
    assert not auth.needs_person and "later" in auth.problem
    assert kept(store, "guarded") is not None
    guarded.control(down=False)
    assert 401 not in ask(guarded, StoredAuth(store, "guarded", guarded.url))


def test_an_authorization_server_that_is_gone_is_said(guarded, signed_in, store):
    gone = replace(signed_in, token_endpoint="http://127.0.0.1:9/token", access_token="tok-old")
    save(store, "guarded", gone)
    sentence = "the server that renews its sign-in could not be reached."
    with pytest.raises(ToolcribError, match=f"^{sentence}$") as caught:
        renew(store, "guarded", gone)
    assert "tok-" not in repr(caught.value) and not isinstance(caught.value, EndedError)


def test_without_a_sign_in_the_refusal_stays_and_asks_for_one(guarded, auth):
    assert ask(guarded, auth) == [401]
    assert not auth.signed_in and auth.needs_person and auth.problem == "it asks for a sign-in."


def test_tokens_of_another_address_are_never_sent(guarded, signed_in, store):
    moved = StoredAuth(store, "guarded", guarded.base + "/elsewhere")
    assert ask(guarded, moved) == [401] and not moved.signed_in


def test_requests_at_the_same_time_renew_once(guarded, signed_in, auth):
    guarded.control(end_access=True)
    before = guarded.control()["refreshed"]

    async def go():
        found = []

        async def one(client):
            found.append((await client.post(guarded.url, json={})).status_code)

        async with httpx2.AsyncClient(auth=auth) as client, anyio.create_task_group() as tasks:
            for _ in range(8):
                tasks.start_soon(one, client)
        return found

    found = anyio.run(go)
    assert len(found) == 8 and 401 not in found
    seen = guarded.control()
    assert (seen["refreshed"], seen["reused"]) == (before + 1, 0)


_RENEW = """
import sys
from pathlib import Path
from app.core.paths import Paths
from app.secrets.secret_store import SecretStore
from app.signin.grant import load
from app.signin.renewal import renew
home, url = Path(sys.argv[1]), sys.argv[2]
store = SecretStore.open(Paths(home, home))
known = load(store, "guarded", url)
print("loaded", flush=True)
sys.stdin.readline()
renew(store, "guarded", known)
"""


def test_processes_at_the_same_time_renew_once(guarded, signed_in, store, tmp_path):
    before = guarded.control()
    command = [sys.executable, "-c", _RENEW, str(tmp_path / "home"), guarded.url]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    processes = [subprocess.Popen(command, **pipes) for _ in range(4)]
    for process in processes:  # each holds the same grant before the first renews it
        assert process.stdout.readline() == b"loaded\n"
    for process in processes:
        process.communicate(b"go\n", timeout=60)
    assert [process.returncode for process in processes] == [0, 0, 0, 0]
    after = guarded.control()
    assert after["refreshed"] == before["refreshed"] + 1
    assert after["reused"] == before["reused"]
    grant = load(store, "guarded", guarded.url)
    assert grant.access_token != signed_in.access_token


def test_a_request_that_is_given_up_keeps_what_was_renewed(guarded, signed_in, store):
    """A refresh token is good once: losing its answer would end the sign-in."""
    guarded.control(end_access=True)
    auth = StoredAuth(store, "guarded", guarded.url)

    async def go():
        with anyio.move_on_after(0.001):
            async with httpx2.AsyncClient(auth=auth) as client:
                await client.post(guarded.url, json={})

    anyio.run(go)
    for thread in threading.enumerate():
        if thread.name.startswith("AnyIO"):
            thread.join(10)
    assert 401 not in ask(guarded, StoredAuth(store, "guarded", guarded.url))


def test_giving_back_forgets_the_tokens_here_and_there(guarded, signed_in, store):
    before = guarded.control()["revoked"]
    give_back(store, "guarded")
    assert kept(store, "guarded") is None
    assert guarded.control()["revoked"] == before + 1
    give_back(store, "guarded")


def test_no_token_is_printed(signed_in, auth, guarded):
    ask(guarded, auth)
    assert repr(signed_in) == "Grant(••••)" and "tok-" not in repr(auth)
    assert signed_in.access_token in auth.values()


def test_what_another_version_kept_is_no_sign_in(store):
    store.write("sign-in/guarded", {"url": "x"})
    assert kept(store, "guarded") is None
    store.write("sign-in/guarded", {"colour": "red"})
    assert load(store, "guarded", "x") is None


@pytest.mark.parametrize(
    ("url", "server", "safe"),
    [
        ("https://auth.example.com/a", "https://mcp.example.com", True),
        ("http://auth.example.com/a", "https://mcp.example.com", False),
        ("http://127.0.0.1:1/a", "https://mcp.example.com", False),
        ("https://localhost/a", "https://mcp.example.com", False),
        ("http://127.0.0.1:1/a", "http://localhost:2/mcp", True),
        ("http://[::1]:1/a", "http://127.0.0.2:2/mcp", True),
        ("https://auth.example.com/a", "http://127.0.0.1:2/mcp", True),
        ("http://localhost.evil.com/a", "http://127.0.0.1/", False),
        ("", "https://mcp.example.com", False),
    ],
)
def test_where_sign_in_data_may_go(url, server, safe):
    assert is_safe(url, server) is safe
