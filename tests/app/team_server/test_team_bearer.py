"""Keys of an issuer that is away: no token makes the next one wait for it again."""

import pytest

from app.team_server.bearer import InvalidTokenError, Issuer, IssuerAwayError

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
