"""The encoder loads when nobody waits: in a quiet moment after tools/list, or with a search."""

import time

import psutil
import pytest

from app.gateway.menu.search import LOADING, UNPREPARED

pytestmark = [
    pytest.mark.usefixtures("encoder_at_hand"),
    pytest.mark.skipif(not psutil.LINUX, reason="reads the process's memory map"),
]


def has_encoder(host):
    maps = psutil.Process(host.process.pid).memory_maps()
    return any("onnxruntime" in one.path for one in maps)


def start(stocked, gateway):
    stocked({"alpha": "ok"})
    host = gateway()
    host.initialize()
    return host


def test_calls_that_follow_the_list_at_once_do_not_compete_with_it(stocked, gateway):
    host = start(stocked, gateway)
    host.tools()
    busy_until = time.monotonic() + 2.5
    while time.monotonic() < busy_until:
        host.run("alpha/echo", {"text": "x"})
        assert not has_encoder(host)


def test_a_quiet_moment_after_the_list_is_used(stocked, gateway):
    host = start(stocked, gateway)
    assert not has_encoder(host)
    host.tools()
    host.until(lambda: has_encoder(host))


def test_a_search_before_that_is_answered_by_words_and_starts_the_loading(stocked, gateway):
    host = start(stocked, gateway)
    assert LOADING in host.search("read a note")
    host.until(lambda: LOADING not in host.search("read a note"))
    assert has_encoder(host)
    assert UNPREPARED in host.search("read a note")  # this store has no vectors of its tools
