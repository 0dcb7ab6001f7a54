import pytest

from app.gateway.serving.merged import UriTemplate
from tests.fakes.cpu_time import CpuTime


@pytest.mark.parametrize(
    ("template", "uri", "expected"),
    [
        ("file:///log", "file:///log", True),
        ("file:///log", "file:///log2", False),
        ("repo://{owner}/{name}", "repo://a/b", True),
        ("repo://{owner}/{name}", "repo://a", False),
        ("repo://{owner}/{name}/contents{/path*}", "repo://a/b/contents/x/y", True),
        ("repo://{owner}/{name}/issues", "repo://a/b/pulls", False),
        ("a{x}a", "a", False),
        ("{x}", "", True),
    ],
)
def test_a_template_takes_what_it_can_become(template: str, uri: str, expected: bool) -> None:
    assert UriTemplate(template).matches(uri) is expected


def test_a_hostile_template_and_a_long_uri_take_little_time() -> None:
    template = UriTemplate("x:" + "{a}a" * 400 + "b")
    with CpuTime() as cpu:
        assert not template.matches("x:" + "a" * 1_000_000)
    assert cpu.seconds < 0.5
