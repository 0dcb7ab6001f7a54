"""A host behind the backend: it cannot tell the difference, whatever ends."""

import fcntl
import json
import shutil
import signal
import sys
import termios
import threading
import time
from pathlib import Path

import pytest
from process_waits import ended, stopped, until

from app.gateway.backend.adapter import LOST
from app.gateway.backend.rendezvous import OFF_FILE


def waits(pid):
    """How often a process's threads have waited for something so far."""
    lines = [
        line
        for status in Path(f"/proc/{pid}/task").glob("*/status")
        for line in status.read_text().splitlines()
    ]
    return sum(int(line.split()[1]) for line in lines if line.startswith("voluntary_ctxt"))


def waiting_bytes(pipe):
    """How much nobody has read of a pipe so far."""
    size = fcntl.ioctl(pipe, termios.FIONREAD, bytes(4))
    return int.from_bytes(size, sys.byteorder)


pytestmark = pytest.mark.usefixtures("encoderless")
NOT_CALLED = "The gateway is closing; probe was not called. Ask again."


def test_two_hosts_share_one_backend_and_get_the_same_tools(adapter, backends, stocked):
    stocked({"probe": "ok"})
    first, second = adapter(), adapter("--server", "probe")
    first.initialize()
    second.initialize()
    assert [t["name"] for t in first.request("tools/list")["tools"]] == [
        "search_tools",
        "call_tool",
    ]
    assert "echo" in {t["name"] for t in second.request("tools/list")["tools"]}
    assert len(backends()) == 1


def test_twenty_cold_starts_at_once_make_one_backend(adapter, backends, stocked):
    stocked({"probe": "ok"})
    hosts = [adapter("--server", "probe") for _ in range(20)]
    threads = [threading.Thread(target=host.initialize) for host in hosts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    answers = [host.call("echo", {"text": f"n{i}"}) for i, host in enumerate(hosts)]
    assert [a["content"][0]["text"] for a in answers] == [f"n{i}" for i in range(20)]
    assert len(backends()) == 1


def test_a_killed_backend_fails_what_was_under_way_and_the_next_call_works(
    adapter, backends, stocked, log
):
    stocked({"probe": "ok"})
    host = adapter("--server", "probe")
    host.initialize()
    host.call("echo", {"text": "a"})
    waiting = host.ask("tools/call", {"name": "hang", "arguments": {}})
    until(lambda: any('"hang"' in json.dumps(entry) for entry in log("probe")))
    (old,) = backends()
    old.send_signal(signal.SIGKILL)
    error = host.wait(waiting)["error"]
    assert error["message"] == LOST
    assert host.call("echo", {"text": "b"})["content"][0]["text"] == "b"
    (new,) = backends()
    assert new.pid != old.pid
    calls = [entry for entry in log("probe") if '"hang"' in json.dumps(entry)]
    assert len(calls) == 1, "a call that may have run was run again"


def test_what_was_left_of_a_batch_fails_with_the_backend_and_nothing_else(
    adapter, backends, stocked, log
):
    stocked({"probe": "ok"})
    host = adapter("--server", "probe")
    host.initialize()
    batch = [
        {"id": 901, "method": "tools/call", "params": {"name": "hang", "arguments": {}}},
        {"id": 902, "method": "ping"},
        {"method": "notifications/cancelled", "params": {"requestId": 7}},
        {"id": "901", "method": "tools/call", "params": {"name": "hang", "arguments": {}}},
    ]
    host.send([{"jsonrpc": "2.0", **message} for message in batch])
    until(lambda: len([e for e in log("probe") if '"hang"' in json.dumps(e)]) == 2)
    until(lambda: [m["id"] for m in host.unsolicited] == [902])
    backends()[0].send_signal(signal.SIGKILL)
    until(lambda: len(host.unsolicited) == 3)
    assert [(m["id"], m["error"]["message"]) for m in host.unsolicited[1:]] == [
        (901, LOST),
        ("901", LOST),
    ]
    assert host.call("echo", {"text": "b"})["content"][0]["text"] == "b"
    assert len(host.unsolicited) == 3


def test_the_host_hears_of_a_new_backend_nothing_but_answers(adapter, backends, stocked):
    stocked({"probe": "ok"})
    host = adapter("--server", "probe")
    host.initialize()
    (old,) = backends()
    old.send_signal(signal.SIGKILL)
    ended(old)
    assert host.call("echo", {"text": "b"})["content"][0]["text"] == "b"
    assert host.unsolicited == []


def test_a_call_that_a_killed_backend_never_read_is_run_by_the_next(
    adapter, backends, stocked, log
):
    stocked({"probe": "ok"})
    host = adapter("--server", "probe")
    host.initialize()
    (old,) = backends()
    old.send_signal(signal.SIGSTOP)
    until(lambda: stopped(old.pid))
    before = waits(host.process.pid)
    waiting = host.ask("tools/call", {"name": "echo", "arguments": {"text": "unread"}})
    # the line waits in the pipe that the backend reads, or the adapter has read and sent it
    until(lambda: waiting_bytes(host.process.stdin) or waits(host.process.pid) > before)
    old.send_signal(signal.SIGKILL)
    assert host.wait(waiting)["result"]["content"][0]["text"] == "unread"
    calls = [entry for entry in log("probe") if '"unread"' in json.dumps(entry)]
    assert len(calls) == 1


def test_a_killed_adapter_ends_its_servers(adapter, backends, stocked, control):
    stocked({"probe": "ok"})
    host = adapter("--server", "probe")
    host.initialize()
    host.call("echo", {"text": "a"})
    ((server,),) = [s["servers"] for s in control("status")["sessions"]]
    assert server["pids"]
    host.process.send_signal(signal.SIGKILL)
    until(lambda: not control("status")["sessions"])
    until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in server["pids"]))
    assert len(backends()) == 1


def test_an_idle_backend_ends_by_itself_and_leaves_nothing(adapter, backends, stocked, place):
    stocked({"probe": "ok"})
    host = adapter("--server", "probe", TOOLCRIB_BACKEND_IDLE="0.5")
    host.initialize()
    assert backends()
    host.close()
    until(lambda: not backends())
    assert not Path(place.folder).exists()


class TestALongPath:
    @pytest.fixture
    def home(self, tmp_path: Path) -> Path:
        return tmp_path / ("long" * 15) / "home"

    def test_a_short_folder_of_its_own_goes_with_the_backend(
        self, adapter, backends, stocked, place
    ):
        stocked({"probe": "ok"})
        assert not place.folder.startswith(place.home)
        host = adapter("--server", "probe")
        host.initialize()
        assert host.call("echo", {"text": "a"})["content"][0]["text"] == "a"
        host.close()
        backends()[0].send_signal(signal.SIGTERM)
        until(lambda: not backends())
        assert not Path(place.folder).exists()


def test_a_backend_removes_what_killed_ones_of_other_builds_left(adapter, backends, stocked, place):
    stocked({"probe": "ok"})
    folder = Path(place.folder)
    folder.mkdir(mode=0o700, parents=True)
    old, waiting = "a" * 16, "b" * 16
    names = [f"{old}.lock", f"{old}.sock", f"{old}.txt", f"{old}.txt.7.beef"]
    for name in (*names, f"{waiting}.lock", f"{waiting}.txt", "notes of mine"):
        (folder / name).write_text("", encoding="utf-8")
    with (folder / f"{waiting}.lock").open(encoding="utf-8") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        host = adapter("--server", "probe")
        host.initialize()
        until(lambda: not any((folder / name).exists() for name in names))
        host.close()
        backends()[0].send_signal(signal.SIGTERM)
        until(lambda: not backends())
        kept = {f"{waiting}.lock", f"{waiting}.txt", "notes of mine"}
        assert {file.name for file in folder.iterdir()} == kept
    shutil.rmtree(folder)


def echoed(host):
    """True for an answer of the server; else the host hears that its call was cut off."""
    answer = host.wait(host.ask("tools/call", {"name": "echo", "arguments": {"text": "a"}}))
    if "'text': 'a'" in str(answer):
        return True
    assert LOST in str(answer) or NOT_CALLED in str(answer), answer
    return False


def test_hosts_that_come_while_backends_end_are_all_served(adapter, backends, stocked, place):
    """The lock goes with the backend that ends: nobody may wait on the one that is gone."""
    stocked({"probe": "ok"})
    for _ in range(5):
        hosts = [adapter("--server", "probe") for _ in range(4)]
        for host in hosts:
            host.initialize()
        for process in backends():
            process.send_signal(signal.SIGTERM)
        for host in hosts:
            until(lambda host=host: echoed(host))
        until(lambda: len(backends()) == 1)
        for host in hosts:
            host.close()


@pytest.mark.parametrize("damage", ["nothing listens", "half", "other token", "other build"])
def test_what_a_dead_backend_left_behind_is_replaced(damage, adapter, backends, stocked, place):
    stocked({"probe": "ok"})
    host = adapter("--server", "probe")
    host.initialize()
    host.close()
    (old,) = backends()
    old.send_signal(signal.SIGKILL)
    ended(old)
    descriptor = Path(place.descriptor)
    text = descriptor.read_text()
    changed = {
        "nothing listens": text,
        "half": text[:20],
        "other token": text.replace(text.split("\n")[3], "0" * 64),
        "other build": text.replace(place.build, "0" * 16),
    }
    descriptor.write_text(changed[damage])
    again = adapter("--server", "probe")
    again.initialize()
    assert again.call("echo", {"text": "b"})["content"][0]["text"] == "b"
    assert len(backends()) == 1


def test_a_folder_that_others_can_enter_is_not_used(adapter, backends, stocked, place):
    stocked({"probe": "ok"})
    Path(place.folder).mkdir(parents=True, exist_ok=True)
    Path(place.folder).chmod(0o777)
    host = adapter("--server", "probe")
    host.initialize()
    assert host.call("echo", {"text": "b"})["content"][0]["text"] == "b"
    assert backends() == []


def test_without_a_backend_each_host_is_served_alone(adapter, backends, stocked, home):
    stocked({"probe": "ok"})
    (home / OFF_FILE).touch()
    host = adapter("--server", "probe")
    host.initialize()
    assert host.call("echo", {"text": "b"})["content"][0]["text"] == "b"
    assert backends() == []


def test_the_host_goes_on_alone_when_no_backend_can_be_had_again(adapter, backends, stocked, home):
    stocked({"probe": "ok"})
    host = adapter("--server", "probe")
    host.initialize()
    host.call("echo", {"text": "a"})
    (home / OFF_FILE).touch()
    (old,) = backends()
    old.send_signal(signal.SIGKILL)
    ended(old)
    assert host.call("echo", {"text": "b"})["content"][0]["text"] == "b"
    assert backends() == [] and host.unsolicited == []


def test_the_host_is_served_however_often_its_backends_end_at_once(adapter, backends, stocked):
    stocked({"probe": "ok"})
    host = adapter("--server", "probe")
    host.initialize()
    for number in range(6):
        answer = host.call("echo", {"text": f"n{number}"})
        assert answer["content"][0]["text"] == f"n{number}"
        for backend in backends():
            backend.kill()
            ended(backend)
    assert host.unsolicited == []


def test_two_profiles_never_see_each_other(adapter, stocked, home):
    stocked({"probe": "ok", "other": "ok"})
    from store import profiles
    from store.connection import open_store, transaction

    db = open_store(home / "toolcrib.db")
    with transaction(db):
        profiles.create(db, "narrow", settings={"servers": ["other"]})
    db.close()
    wide, narrow = adapter(), adapter("--profile", "narrow")
    wide.initialize()
    narrow.initialize()
    ok = wide.call("call_tool", {"name": "probe/echo", "arguments": {"text": "x"}})
    assert ok["content"][0]["text"] == "x"
    no = narrow.call("call_tool", {"name": "probe/echo", "arguments": {"text": "x"}})
    assert no["isError"] and "probe" not in json.dumps(no).replace("probe/echo", "")


def test_six_hosts_with_equal_request_ids_get_their_own_answers(adapter, stocked):
    stocked({"probe": "ok"})
    hosts = [adapter("--server", "probe") for _ in range(6)]
    for host in hosts:
        host.initialize()
    wrong: list[str] = []

    def drive(number: int) -> None:
        for turn in range(40):
            text = f"{number}-{turn}"
            answer = hosts[number].call("echo", {"text": text})["content"][0]["text"]
            if answer != text:
                wrong.append(f"{text} got {answer}")

    threads = [threading.Thread(target=drive, args=(n,)) for n in range(6)]
    began = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert wrong == [] and time.monotonic() - began < 120
