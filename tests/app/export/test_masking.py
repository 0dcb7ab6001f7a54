from pathlib import Path

import pytest

from app.export.masking import masked_text

SECRET = "s3cr3t-value-0815"


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("json", f'{{"mcpServers": {{"a": {{"env": {{"K": "{SECRET}"}}}}}}}}'),
        ("json", f'{{"mcpServers": {{"a": {{"headers": {{"X-T": "Bearer {SECRET}"}}}}}}}}'),
        ("json", f'{{"mcpServers": {{"a": {{"args": ["--token", "{SECRET}"]}}}}}}'),
        ("json", f'{{"a": {{"url": "https://u:{SECRET}@h/mcp"}}}}'),
        ("json", f'{{"oauthAccount": {{"accessToken": "{SECRET}"}}}}'),
        ("json", f'{{"engines": {{"apiKey": "{SECRET}"}}}}'),
        ("toml", f'[mcp_servers.a]\nargs = ["--api-key={SECRET}"]\n'),
        ("toml", f'[mcp_servers.a.env]\nK = "{SECRET}"\n'),
        ("toml", f'[mcp_servers.a]\nhttp_headers = {{ "X" = "{SECRET}" }}\n'),
        ("toml", f'experimental_bearer_token = "{SECRET}"\n'),
        ("yaml", f"extensions:\n  a:\n    envs:\n      K: {SECRET}\n"),
        ("yaml", f"extensions:\n  a:\n    headers: {{ A: 'Bearer {SECRET}' }}\n"),
        ("yaml", f"models:\n  - apiKey: {SECRET}\n"),
        ("yaml", f"extensions:\n  a:\n    envs:\n      K: |\n        {SECRET}\n        more\n"),
    ],
)
def test_no_secret_is_shown_and_the_lines_stay(kind, text):
    shown = masked_text(text.encode(), kind)
    assert SECRET not in shown
    assert "••••" in shown
    assert len(shown.splitlines()) == len(text.splitlines())


def test_short_values_and_numbers_in_env_are_masked_where_they_stand_only():
    shown = masked_text(b'{"env": {"A": "1", "B": 2}, "timeout": 1, "x": "1"}', "json")
    assert shown == '{"env": {"A": "••••", "B": "••••"}, "timeout": 1, "x": "1"}'


@pytest.mark.parametrize("kind", ["json", "toml"])
def test_variables_and_ordinary_text_are_shown(kind):
    text = {
        "json": '{"env": {"T": "${env:TOKEN}"}, "args": ["-y", "x"], "url": "https://h/mcp"}',
        "toml": 'command = "npx"\nargs = ["-y", "x"]\nbearer_token_env_var = "FIGMA_TOKEN"\n',
    }[kind]
    assert masked_text(text.encode(), kind) == text


def test_a_file_that_cannot_be_read_is_not_shown():
    assert SECRET not in masked_text(f'{{"token": "{SECRET}"'.encode(), "json")
    assert masked_text(None, "json") == ""


def test_no_sample_shows_its_secrets():
    samples = Path(__file__).parents[2] / "data" / "hosts"
    for path in samples.rglob("*.json"):
        shown = masked_text(path.read_bytes(), "json")
        for secret in ("not-a-real-password", "ghp_FAKE", "sk-fake", "FAKE_KEY"):
            assert secret not in shown, path
