"""Texts cut into sentences, and long sentences into pieces."""

import pytest

from app.safety.sentences import LONGEST, sentence_spans, sentences

LONG = (
    "Deliberately carries no token material: the access and refresh tokens that the endpoint"
    " returns are stored in the local credential store and never enter the tool result, which"
    " would put them in the model's context and the conversation transcript."
)


def test_the_last_piece_of_a_long_sentence_is_no_fragment():
    first, last = sentences(LONG)
    assert first.startswith("Deliberately") and LONG.startswith(first)
    assert LONG.endswith(last) and LONGEST // 2 < len(last) <= LONGEST
    assert [span.before for span in sentence_spans(LONG)] == ["", first]


@pytest.mark.parametrize("words", [1, 30, 41, 60, 90, 400])
def test_pieces_hold_every_word_in_order_and_only_the_last_two_overlap(words):
    text = " ".join(f"word{number:03}" for number in range(words))
    pieces = sentences(text)
    assert all(0 < len(piece) <= LONGEST and piece in text for piece in pieces)
    starts = [text.index(piece) for piece in pieces]
    assert starts == sorted(set(starts))
    ends = [start + len(piece) for start, piece in zip(starts, pieces, strict=True)]
    assert [start - end for start, end in zip(starts[1:-1], ends, strict=False)] == [1] * (
        len(pieces) - 2
    )
    assert set(" ".join(pieces).split()) == set(text.split())


def test_a_word_without_blanks_is_cut_where_it_must_be():
    assert [len(piece) for piece in sentences("x" * 450)] == [200, 200, 50]
