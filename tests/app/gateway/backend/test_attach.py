"""Meeting the backend: no peer keeps a host waiting."""

import socket
import sys
import threading
import time
from pathlib import Path

import pytest

from app.gateway import hook
from app.gateway.backend import attach, client, rendezvous
from tests.fakes.process_waits import until


@pytest.fixture
def listening(place):
    """A socket where the backend would listen; nobody takes a connection."""
    assert rendezvous.ensure_folder(place.folder)
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    server.bind(place.socket)
    server.listen(0)
    yield server
    server.close()


def test_an_answer_that_drips_counts_as_none(monkeypatch):
    monkeypatch.setattr(attach, "_ANSWER_SECONDS", 0.3)
    ours, theirs = socket.socketpair()
    over = threading.Event()

    def drip():
        while not over.wait(0.02):
            theirs.send(b"o")

    dripping = threading.Thread(target=drip)
    dripping.start()
    began = time.monotonic()
    try:
        assert not attach.is_welcome(ours)
    finally:
        over.set()
        dripping.join(10)
        ours.close()
        theirs.close()
    assert time.monotonic() - began < 5


def test_a_full_queue_of_callers_is_not_waited_for_without_end(place, listening, monkeypatch):
    monkeypatch.setattr(rendezvous, "_CONNECT_SECONDS", 1)
    waiting = []
    began = time.monotonic()
    try:
        while (link := rendezvous.connect(place)) is not None and len(waiting) < 20:
            waiting.append(link)
    finally:
        for one in waiting:
            one.close()
    assert link is None and time.monotonic() - began < 15


def test_an_answer_that_is_cut_counts_as_none(place, listening):
    descriptor = Path(place.descriptor)
    descriptor.touch(0o600)
    descriptor.write_text(rendezvous.descriptor_text(place, "token"))

    def answer():
        link, _ = listening.accept()
        link.recv(1 << 16)
        link.sendall(b'ok 1\n{"pid": 4')
        link.close()

    answering = threading.Thread(target=answer)
    answering.start()
    try:
        assert client.request(place, rendezvous.STATUS) is None
    finally:
        answering.join(10)


@pytest.mark.parametrize(
    ("value", "seconds"), [("inf", 60.0), ("1e9", 60.0), ("-1", 0.01), ("nan", 0.01), ("x", 0.1)]
)
def test_no_setting_makes_a_hook_wait_without_end(monkeypatch, value, seconds):
    monkeypatch.setenv("TOOLCRIB_HOOK_SECONDS", value)
    assert hook._limit() == seconds


def test_a_backend_that_takes_a_connection_and_never_answers_costs_a_second(place, listening):
    listening.listen(8)
    descriptor = Path(place.descriptor)
    descriptor.touch(0o600)
    descriptor.write_text(rendezvous.descriptor_text(place, "token"))
    began = time.monotonic()
    assert attach.attach(place, ["--profile", "default"]) is None
    assert time.monotonic() - began < 4


def test_who_starts_a_backend_waits_for_one_that_is_busy_at_first(place, listening, monkeypatch):
    monkeypatch.setattr(attach, "_ANSWER_SECONDS", 0.2)
    listening.listen(8)
    descriptor = Path(place.descriptor)
    descriptor.touch(0o600)
    descriptor.write_text(rendezvous.descriptor_text(place, "token"))
    taken = []

    def answer():
        while len(taken) < 4:  # two greetings, and between them a look if it listens
            link, _ = listening.accept()
            taken.append(link)
            if len(taken) > 2 and link.recv(1 << 16):
                link.sendall(b"ok 1\n")
                return

    answering = threading.Thread(target=answer)
    answering.start()
    try:
        assert client.start(place, 10)
    finally:
        answering.join(10)
        for link in taken:
            link.close()
    assert len(taken) == 3


@pytest.mark.parametrize("kind", ["folder", "link", "loop"])
def test_a_lock_that_cannot_be_opened_is_said_once_and_the_host_served_alone(place, kind, capfd):
    assert rendezvous.ensure_folder(place.folder)
    lock = Path(place.lock)
    if kind == "folder":
        lock.mkdir()
    else:
        lock.symlink_to(lock if kind == "loop" else "/dev/null")
    assert attach.attach(place, []) is None
    lines = capfd.readouterr().err.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("toolcrib-gateway: no backend: ") and "serving alone" in lines[0]


@pytest.mark.parametrize(
    "error", [OSError(28, "No space left on device"), OSError(30, "Read-only")]
)
def test_a_full_or_read_only_disk_ends_no_gateway(place, error, monkeypatch, capfd):
    def refuse(_place):
        raise error

    monkeypatch.setattr(attach, "_open_lock", refuse)
    assert attach.attach(place, []) is None
    assert error.strerror in capfd.readouterr().err


def test_both_programs_of_a_bundle_start_and_ask_one_backend(place, tmp_path, monkeypatch):
    started = tmp_path / "started"
    for name in ("toolcrib", "toolcrib-gateway"):
        program = tmp_path / name
        program.write_text(
            f'#!/bin/sh\necho "$0" "$@" >{started}.new; mv {started}.new {started}\n'
        )
        program.chmod(0o755)
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    monkeypatch.setattr(rendezvous, "_times_of_modules", lambda _folder: [])  # in an archive
    builds = set()
    for name in ("toolcrib", "toolcrib-gateway"):
        monkeypatch.setattr(sys, "executable", str(tmp_path / name))
        builds.add(rendezvous.build_id())
        attach.spawn(place)
        until(started.exists)
        assert started.read_text().split() == [str(tmp_path / "toolcrib-gateway"), "serve"]
        started.unlink()
    assert len(builds) == 1
