import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.hosts.display import launch_text
from app.hosts.launch import HTTP, STDIO, LaunchSpec

KEY = b"install key"
SECRET = "s3cr3t-value-0815"
texts = st.text(min_size=0, max_size=20)


@pytest.mark.parametrize(
    "args",
    [
        ("--token", SECRET),
        ("--api-key", SECRET),
        (f"--api-key={SECRET}",),
        (f"--token:{SECRET}",),
        ("--header", f"Authorization: Bearer {SECRET}"),
        ("-H", f"X-Key:{SECRET}"),
        (f"--header=X-Key: {SECRET}",),
        ("-e", f"GITHUB_TOKEN={SECRET}"),
        (f"--env=API_KEY={SECRET}",),
        (f"postgres://app:{SECRET}@db:5432/x",),
        (f"https://host/mcp?api_key={SECRET}&x=1",),
        (f"https://{SECRET}@host/mcp",),
        ("--password", SECRET),
        ("ghp_" + SECRET.replace("-", ""),),
        (f"Authorization: Bearer {SECRET}",),
    ],
)
def test_a_credential_in_the_arguments_leaves_the_spec_and_comes_back(args):
    launch = LaunchSpec(STDIO, "npx", ("-y", "server", *args))
    spec, secrets = launch.to_spec(KEY)
    value = SECRET.replace("-", "") if args[0].startswith("ghp_") else SECRET
    for shown in (repr(spec), repr(launch), repr(secrets), launch_text(launch).line):
        assert value not in shown
    assert any(value in kept for kept in secrets.values)
    assert LaunchSpec.from_spec(spec, secrets) == launch


V = "s3cr3tV4lue-x9"
SPELLINGS = [
    ("-p", V), ("-p", "letmein"), (f"-p{V}",), ("--pass", V), ("--pw", V), (f"--pass={V}",),
    (f"Server=db;User Id=sa;Password={V};",), ("--cs", f"Server=db;Password={V};Encrypt=yes"),
    ("--env", f'{{"API_KEY":"{V}"}}'), ("--env", f'{{"FOO":"{V}"}}'),
    ("--config", f'{{"a":{{"token":"{V}"}}}}'), ("--config", f'{{\\"token\\":\\"{V}\\"}}'),
    (f"https://h.example/s/{V}/mcp",), (f"https://h.example/mcp/{V}",), (f"https://h/mcp#{V}",),
    (f"https://h/mcp?k={V}",), (f"https://h/mcp?x=1&sig={V}",), (f"https://{V}.h.example/mcp",),
    ("-u", f"user:{V}"), ("--auth", f"user:{V}"), ("--bearer", V), (f"Bearer {V}",),
    ("--header", f"X-Any: {V}"), ("-H", f"Cookie: a={V}"), ("-e", f"FOO={V}"),
    (f"--set=x.y={V}",), ("--key", V), ("--api_key", V), ("--apiKey", V), ("--accessToken", V),
    ("--client-secret", V), ("--secretKey", V), ("--private-key", V), (V,), ("login", V),
    (f"token:{V}",), (f"password={V}",), ("sh", "-c", f"TOKEN={V} run x"),
    ("sh", "-c", f"export K={V}; run"), ("sh", "-c", f"run --key {V}"),
    ("sh", "-c", f"curl -H 'Authorization: Bearer {V}' https://x"),
    ("-c", f"import x; x.run('{V}')"), ("--dsn", f"postgres://u:{V}@h/db"),
    (f"jdbc:postgresql://h/db?user=u&password={V}",), (f"mongodb+srv://u:{V}@h/db",),
    (f"redis://:{V}@h:6379",), ("--token-value", V), ("--credentials", V), (f"/token:{V}",),
    (f"-Dtoken={V}",), ("--param", f"key={V}"), (f"k1={V},k2=v",), ("-t", V), ("--otp", V),
    ("--pin", "letmein"), ("--password", "letmein"), ("Pwd=letmein;Uid=x",),
]  # fmt: skip


@pytest.mark.parametrize("args", SPELLINGS, ids=" ".join)
def test_no_usual_spelling_of_a_credential_is_stored(args):
    launch = LaunchSpec(STDIO, "npx", ("-y", "server", *args))
    spec, secrets = launch.to_spec(KEY)
    assert V not in repr(spec)
    assert "letmein" not in repr(spec)
    assert LaunchSpec.from_spec(spec, secrets) == launch


@pytest.mark.parametrize(
    "args",
    [
        ("-y", "@modelcontextprotocol/server-everything@2025.9.1"),
        ("-y", "@upstash/context7-mcp@latest"),
        ("--repository", "/home/ann/projects/x1"),
        ("run", "-i", "--rm", "-e", "GITHUB_TOKEN", "ghcr.io/github/github-mcp-server"),
        ("https://mcp.linear.app/sse", "--header", "Authorization:${AUTH}"),
        ("-p", "8080:80"),
        ("--from", "git+https://github.com/x/y@3f2a9c1", "srv"),
        ("-m", "mcp_server_fetch"),
        ("--port=3000", "--browser", "chrome", "--region", "eu-central-1"),
        ("sh", "-c", "cd /x && npm run start"),
        ("--allow", "*.example.com"),
        ("--db-path", "/tmp/pytest-of-root/pytest-77/test_a0/x.sqlite3"),
    ],
)
def test_ordinary_arguments_are_stored_as_they_are(args):
    assert LaunchSpec(STDIO, "npx", args).to_spec(KEY)[0].args == args


def test_what_a_server_is_given_is_hidden_and_ordinary_words_are_not():
    env = {
        "DATABASE_URL": "postgres://app:pW4-zz81-Lq9@db:5432/main",
        "AWS_REGION": "eu-central-1",
        "LOG_LEVEL": "warning",
        "ROOT": "/home/ann/notes",
        "NOTE": "x9Kq2p",
        "POSTGRES_PASSWORD": "postgres",
    }
    values = LaunchSpec(STDIO, "x", env=env).secret_values()
    assert {"pW4-zz81-Lq9", "x9Kq2p"} < set(values)
    assert not {"eu-central-1", "warning", "/home/ann/notes", "postgres"} & set(values)


@pytest.mark.parametrize(
    "args",
    [
        ("--access-mode", "restricted"),
        ("--token-file", "/run/token"),
        ("--token", "${env:TOKEN}"),
        ("--header", "Authorization:${AUTH}"),
        ("https://mcp.example.org/mcp?region=eu",),
        ("--key-path=/x",),
        ("--token", "--verbose"),
    ],
)
def test_what_is_no_credential_stays_readable(args):
    spec, secrets = LaunchSpec(STDIO, "npx", args).to_spec(KEY)
    assert spec.args == args
    assert not secrets.values


def test_environment_and_header_values_are_never_in_the_spec():
    local = LaunchSpec(STDIO, "x", env={"A": SECRET})
    remote = LaunchSpec(HTTP, url="https://h/mcp", headers={"X-Team": SECRET})
    for launch in (local, remote):
        spec, secrets = launch.to_spec(KEY)
        assert SECRET not in repr(spec) + repr(secrets) + repr(launch)
        assert LaunchSpec.from_spec(spec, secrets) == launch
    assert local.to_spec(KEY)[0].env_names == ("A",)
    assert remote.to_spec(KEY)[0].header_names == ("X-Team",)


def test_two_specs_that_differ_in_a_secret_have_different_keys():
    one, other = (LaunchSpec(STDIO, "x", env={"A": value}) for value in ("1", "2"))
    assert one.to_spec(KEY)[0].key != other.to_spec(KEY)[0].key
    assert one.to_spec(KEY)[0].key == one.to_spec(KEY)[0].key
    assert one.to_spec(KEY)[0].key != one.to_spec(b"another key")[0].key


def test_text_that_looks_like_a_reference_is_not_filled_in():
    launch = LaunchSpec(STDIO, "x", ("--token", "a", "${secret:0}", "b${secret:9}"))
    spec, secrets = launch.to_spec(KEY)
    assert LaunchSpec.from_spec(spec, secrets) == launch


def test_a_variable_that_is_not_kept_is_left_out():
    spec, secrets = LaunchSpec(STDIO, "x", ("--token", SECRET), {"A": SECRET}).to_spec(KEY)
    again = LaunchSpec.from_spec(spec, type(secrets)())
    assert again.args == ("--token", "")
    assert again.env == {}


@settings(derandomize=True, max_examples=200, deadline=None)
@given(
    st.lists(st.one_of(texts, st.sampled_from(["--token", "-H", "https://a:b@c/?key=d", "K=v"]))),
    st.dictionaries(texts, texts, max_size=3),
    st.one_of(texts, st.just("https://user:pw@host/mcp?token=abc")),
)
def test_every_launch_survives_the_way_through_spec_and_secrets(args, env, url):
    for launch in (
        LaunchSpec(STDIO, "cmd", tuple(args), env),
        LaunchSpec(HTTP, url=url, headers=env),
    ):
        assert LaunchSpec.from_spec(*launch.to_spec(KEY)) == launch
