"""Keys of an issuer that is away: no token makes the next one wait for it again; session ids."""

import base64

import jwt
import pytest

from app.team_server import session_id
from app.team_server.bearer import InvalidTokenError, Issuer, IssuerAwayError
from app.team_server.session_id import SessionIds

# a header that names a key; nothing of it is verified before the keys are there
TOKEN = "eyJhbGciOiJSUzI1NiIsImtpZCI6ImEifQ.e30.c2ln"


def test_an_issuer_that_is_away_at_the_start_is_asked_once_in_a_while():
    asked, now = [], [100.0]

    def read(url):
        asked.append(url)
        raise IssuerAwayError("away")

    issuer = Issuer("https://id.example.org", "aud", read=read, clock=lambda: now[0])
    for _ in range(20):
        with pytest.raises(IssuerAwayError):
            issuer.verify(TOKEN)
    assert len(asked) == 1
    now[0] += 16
    with pytest.raises(IssuerAwayError):
        issuer.verify(TOKEN)
    assert len(asked) == 2


def test_it_serves_as_soon_as_its_keys_can_be_read():
    now, away = [100.0], [True]

    def read(url):
        if away[0]:
            raise IssuerAwayError("away")
        if url.endswith("openid-configuration"):
            return {"issuer": "https://id.example.org", "jwks_uri": "https://id.example.org/keys"}
        key = {"kty": "RSA", "kid": "b", "use": "sig", "n": "u1SU1LfVLPHCozMxH2Mo", "e": "AQAB"}
        return {"keys": [key]}

    issuer = Issuer("https://id.example.org", "aud", read=read, clock=lambda: now[0])
    with pytest.raises(IssuerAwayError):
        issuer.verify(TOKEN)
    away[0] = False
    now[0] += 16
    with pytest.raises(InvalidTokenError):  # its keys are known now, and this one is none of them
        issuer.verify(TOKEN)


def test_a_session_id_opens_its_own_session_until_it_ends(monkeypatch):
    ids = SessionIds(b"k" * 32)
    text = ids.make("ana", "team")
    assert ids.opens(text, "ana", "team")
    assert SessionIds(b"k" * 32).opens(text, "ana", "team")  # another replica
    assert not SessionIds(b"z" * 32).opens(text, "ana", "team")
    assert not ids.opens(text, "bo", "team")
    assert not ids.opens(text, "ana", "other")
    assert ids.opens(ids.make("ana", ""), "ana", "")
    monkeypatch.setattr(session_id, "_SECONDS", -1)
    assert not ids.opens(ids.make("ana", "team"), "ana", "team")


def test_a_session_id_that_was_not_made_here_opens_nothing():
    claims = {"sub": "ana", "aud": "team", "exp": 9e9}
    deep = base64.urlsafe_b64encode(b"[" * 1500).decode()
    signed = jwt.encode(claims, None, "none"), jwt.encode(claims, b"k" * 32, "HS256")
    for text in (*signed, "", "e30.AAAA", "\ud800.a.b", f"{deep}.e30.AA"):
        assert not SessionIds(b"k" * 32).opens(text, "ana", "team")
