"""Servers behind a URL, each a real HTTP server on the loopback."""

import socket
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

import pytest

from app.hosts.launch import HTTP, SSE, LaunchSpec
from app.registry.probe import ProbeOptions, probe
from store.records import COULD_NOT_START, NEEDS_SIGN_IN, READ, TOOK_TOO_LONG

Serve = Callable[..., AbstractContextManager[Any]]
BEARER = "Bearer hunter2-hunter2"


@pytest.mark.parametrize("mode", ["json", "stream", "modern"])
def test_streamable_http_is_read(serve: Serve, quick: ProbeOptions, mode: str) -> None:
    with serve(mode) as web:
        reading = probe(LaunchSpec(HTTP, url=web.url), options=quick)
    assert (reading.status, reading.problem) == (READ, "")
    assert [tool.name for tool in reading.tools] == ["web_tool"]
    assert reading.taken_with["transport"] == "http"
    assert reading.taken_with["era"] == ("modern" if mode == "modern" else "legacy")


@pytest.mark.parametrize("transport", [HTTP, SSE])
def test_an_sse_server_is_read_whatever_the_file_calls_it(
    serve: Serve, quick: ProbeOptions, transport: str
) -> None:
    with serve("sse") as web:
        reading = probe(LaunchSpec(transport, url=web.url), options=quick)
    assert (reading.status, reading.problem) == (READ, "")
    assert reading.taken_with["transport"] == "sse"


def test_a_url_that_went_back_to_the_older_era_is_read(serve: Serve, quick: ProbeOptions) -> None:
    with serve("json") as web:
        reading = probe(LaunchSpec(HTTP, url=web.url), options=quick, era="modern")
    assert (reading.status, reading.taken_with["era"]) == (READ, "legacy")


def test_headers_are_sent_and_the_bearer_is_not_kept(serve: Serve, quick: ProbeOptions) -> None:
    with serve("json", token=BEARER) as web:
        launch = LaunchSpec(HTTP, url=web.url, headers={"Authorization": BEARER, "X-Team": "a"})
        reading = probe(launch, options=quick)
        sent = web.headers_seen[0]
    assert reading.read
    assert (sent["Authorization"], sent["X-Team"]) == (BEARER, "a")
    assert "hunter2" not in repr(reading)


@pytest.mark.parametrize("transport", [HTTP, SSE])
def test_oauth_is_a_row_that_needs_a_sign_in(
    serve: Serve, quick: ProbeOptions, transport: str
) -> None:
    with serve("sse" if transport == SSE else "json", token=BEARER) as web:
        reading = probe(LaunchSpec(transport, url=web.url), options=quick)
    assert (reading.status, reading.problem) == (NEEDS_SIGN_IN, "It asks for a sign-in.")


def test_a_wrong_bearer_says_so(serve: Serve, quick: ProbeOptions) -> None:
    with serve("json", token=BEARER) as web:
        launch = LaunchSpec(HTTP, url=web.url, headers={"authorization": "Bearer wrong-wrong"})
        reading = probe(launch, options=quick)
    assert reading.status == NEEDS_SIGN_IN
    assert reading.problem == "It does not accept the credentials given."


@pytest.mark.parametrize(
    ("status", "said"), [("403", "It refused access"), ("502", "status 502"), ("404", "status 404")]
)
def test_a_refusal_is_quoted(serve: Serve, quick: ProbeOptions, status: str, said: str) -> None:
    with serve(status) as web:
        reading = probe(LaunchSpec(HTTP, url=web.url), options=quick)
    assert reading.status == COULD_NOT_START
    assert said in reading.problem


@pytest.mark.parametrize("transport", [HTTP, SSE])
def test_a_server_that_is_not_there_is_said(quick: ProbeOptions, transport: str) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://user:hunter2-hunter2@127.0.0.1:{free.getsockname()[1]}/mcp"
    reading = probe(LaunchSpec(transport, url=url), options=quick)
    assert reading.status == COULD_NOT_START
    assert "could not be reached" in reading.problem
    assert "hunter2" not in reading.problem


@pytest.mark.parametrize("url", ["", "not a url", "ftp://127.0.0.1/x", "http://[bad"])
def test_a_url_that_is_none_is_said(quick: ProbeOptions, url: str) -> None:
    assert probe(LaunchSpec(HTTP, url=url), options=quick).status == COULD_NOT_START


def test_a_server_that_never_answers_is_given_up(serve: Serve, quick: ProbeOptions) -> None:
    with serve("hang") as web:
        reading = probe(LaunchSpec(HTTP, url=web.url), options=quick)
    assert reading.status == TOOK_TOO_LONG
    assert reading.problem == (
        "Waited 1 s for it to answer tools/list."
        " Check that its URL answers, or give servers more time in Settings."
    )


def test_an_answer_beyond_all_measure_ends_the_reading(serve: Serve, quick: ProbeOptions) -> None:
    limits = replace(quick.limits, output_bytes=1_000_000)
    with serve("large") as web:
        reading = probe(LaunchSpec(HTTP, url=web.url), options=replace(quick, limits=limits))
    assert reading.status == COULD_NOT_START
    assert reading.problem == "It sent over 1,000,000 bytes."


def test_the_systems_proxy_is_used(
    serve: Serve, quick: ProbeOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serve("json") as web:
        monkeypatch.setenv("HTTP_PROXY", web.url.removesuffix("/mcp"))
        reading = probe(LaunchSpec(HTTP, url="http://example.invalid/mcp"), options=quick)
    assert reading.read
