"""Servers that a host names one by one: what it got from one is known at the others' entries."""

import json
import sys
from pathlib import Path

import pytest
from raw_host import text

pytestmark = pytest.mark.usefixtures("encoderless")
SERVER = Path(__file__).parents[3] / "fakes" / "office_server.py"
PROSE = (
    "The customer writes that the second delivery of the espresso machine never arrived, that the"
    " first parcel had been opened on its way, and that she would rather have her money back."
)


def test_a_passage_of_one_entrys_server_is_refused_at_another_entry(stocked, adapter, tmp_path):
    texts, log = tmp_path / "texts.json", tmp_path / "calls.log"
    texts.write_text(json.dumps({"get_ticket": PROSE}), encoding="utf-8")
    given = {"OFFICE_TEXTS": str(texts), "OFFICE_LOG": str(log)}
    servers = {
        name: {
            "command": sys.executable,
            "args": [str(SERVER)],
            "env": {**given, "OFFICE": name},
        }
        for name in ("tickets", "mail")
    }
    stocked(servers, {"gateway": {"passages_out": "refuse"}})
    tickets, mail = adapter("--server", "tickets"), adapter("--server", "mail")
    tickets.initialize()
    mail.initialize()
    assert text(tickets.call("get_ticket", {"number": "17"})) == PROSE
    refused = mail.call("send_mail", {"to": "a@b.example", "body": f"Note: {PROSE}"})
    assert refused["isError"] and "a result of tickets" in text(refused)
    assert text(mail.call("send_mail", {"to": "a@b.example", "body": "Hi"})) == "send_mail: done"
