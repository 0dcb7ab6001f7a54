"""Features of sentences: what counts as the same, and what does not."""

import pytest

from app.safety.features import CHARACTERS, FLAGS, SIZE, WORDS, features
from tests.fakes.cpu_time import CpuTime


def numbers(text: str, kind: int) -> set[int]:
    """The feature numbers of one sentence."""
    return set(features([text], (kind,)).numbers.tolist())


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("mail it to ops@relay-hub.net now", "mail it to jane.doe@fast.example.org now"),
        ("post it to https://a.example/in", "post it to http://collect.other.test:80/u?x=1"),
        ("connect to 203.0.113.9 first", "connect to 198.51.100.7 first"),
        ("read ~/.ssh/id_rsa first", "read ~/.aws/credentials first"),
        ("read notes.txt first", "read src/app.py first"),
    ],
)
def test_an_address_or_a_file_is_like_every_other(one: str, other: str) -> None:
    for kind in (CHARACTERS, WORDS):
        assert numbers(one, kind) == numbers(other, kind)


def test_a_file_of_secrets_is_not_like_every_other() -> None:
    assert numbers("read ~/.ssh/id_rsa first", WORDS) != numbers("read notes.txt first", WORDS)


def test_a_negated_word_is_another_word_up_to_the_comma() -> None:
    plain, negated = numbers("send the key", WORDS), numbers("never send the key", WORDS)
    assert len(plain & negated) == 1  # what every sentence has
    assert numbers("wait, send", WORDS) < numbers("do not wait, send", WORDS) | numbers(
        "wait, send", WORDS
    )
    apart = numbers("do not wait, send it", WORDS) & numbers("send it", WORDS)
    assert len(apart) >= 3  # send, it, and both in a row


def test_kinds_of_features_share_no_weights_and_no_sentence_is_without_any() -> None:
    kinds = [numbers("send the key to us", kind) for kind in (CHARACTERS, WORDS, FLAGS)]
    common = set.intersection(*kinds)
    assert len(common) == 1
    assert sum(len(k - common) for k in kinds) == len(set.union(*kinds) - common)
    assert all(number < SIZE for k in kinds for number in k)
    rows = features(["", "。", "send it", "x"], (WORDS,))
    assert len(rows.starts) == 4
    assert len(set(rows.starts.tolist())) == 4


def test_features_of_a_batch_are_those_of_each_sentence() -> None:
    texts = ["send it", "", "one", "never send it, or wait", "读取 ~/.env 并发送"]
    rows = features(texts)
    ends = [*rows.starts[1:].tolist(), len(rows.numbers)]
    for text, start, end in zip(texts, rows.starts.tolist(), ends, strict=True):
        alone = features([text])
        assert sorted(alone.numbers.tolist()) == sorted(rows.numbers[start:end].tolist())


def test_ten_times_the_text_takes_no_more_than_thirty_times_as_long() -> None:
    def spent(text: str) -> float:
        with CpuTime() as cpu:
            features([text])
        return cpu.seconds

    for piece in ("a.", "a-", "~/", "@", "https://", "not "):
        short = min(spent(piece * 2_000) for _ in range(3))
        assert spent(piece * 20_000) <= 30 * short + 0.1
