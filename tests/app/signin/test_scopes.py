"""What a server says that a sign-in lacks."""

from dataclasses import replace

import pytest

from app.signin.grant import kept, want
from app.signin.scopes import asking_for, challenge_scopes, lacking, union


@pytest.mark.parametrize(
    ("challenge", "found"),
    [
        (
            'Bearer error="insufficient_scope", scope="files:read files:write"',
            "files:read files:write",
        ),
        ('Bearer scope="a", error="insufficient_scope", resource_metadata="https://x/y"', "a"),
        ("Bearer error=insufficient_scope, scope=a", "a"),
        ('Bearer error="insufficient_scope"', ""),
        ('Bearer error="invalid_token", scope="a"', None),
        ('Bearer error_description="insufficient_scope", scope="a"', None),
        ("", None),
    ],
)
def test_only_a_challenge_for_more_rights_is_one(challenge, found):
    assert lacking(challenge) == found


def test_another_parameter_is_not_the_scope():
    assert challenge_scopes('Bearer my-scope="x", error="insufficient_scope"') == ""


def test_each_scope_once_and_no_strangers_text():
    assert union("a b", "b c", 'x"y', "z\\") == "a b c"
    assert len(union(" ".join(f"scope{n}" for n in range(10_000)))) <= 2_000


@pytest.mark.parametrize(
    ("challenge", "found"),
    [
        ("Bearer", 'Bearer scope="w"'),
        ('Bearer error="invalid_token"', 'Bearer error="invalid_token", scope="w"'),
        ('Bearer scope="r", realm="x"', 'Bearer realm="x", scope="r w"'),
        (
            'Bearer error_description="need scope=foo now"',
            'Bearer error_description="need scope=foo now", scope="w"',
        ),
        ("", 'Bearer scope="w"'),
    ],
)
def test_a_challenge_with_more_scopes(challenge, found):
    assert asking_for(challenge, "w") == found


def test_what_is_wanted_is_kept_with_the_tokens(store, signed_in):
    want(store, "guarded", signed_in, "write")
    want(store, "guarded", signed_in, "write admin")
    assert kept(store, "guarded").wanted == "write admin"
    for other in ({"url": "https://elsewhere.example"}, {"access_token": "an older one"}):
        want(store, "guarded", replace(signed_in, **other), "evil")
    assert kept(store, "guarded").wanted == "write admin"
    assert kept(store, "guarded").access_token == signed_in.access_token
