from itertools import pairwise

import pytest

from app.encoder.onnx import Encoder
from app.tokens.counters import counter
from tests.bench.data.bed import EmbeddedCatalogue
from tests.bench.data.embeddings import CachedEncoder
from tests.bench.data.sets import QuerySet
from tests.bench.lexical import tf_idf


@pytest.fixture(scope="module")
def bed(small_set: QuerySet, encoder: Encoder) -> EmbeddedCatalogue:
    return EmbeddedCatalogue(
        small_set.tools,
        small_set.queries,
        encoder=CachedEncoder(encoder, None),
        counter=counter("cl100k_base"),
    )


def test_all_tools_cost_all_schemas_and_find_everything(bed: EmbeddedCatalogue) -> None:
    everything = [list(range(len(bed.ids)))] * len(bed.queries)
    found = bed.outcome(everything, pool=False)
    assert (found.phase1, found.phase2, found.recall, found.empty) == (0, bed.full, 100, 0)
    assert bed.outcome(everything, pool=True).tokens == bed.full + bed.pool


def test_a_higher_theta_never_lets_more_in(bed: EmbeddedCatalogue) -> None:
    sets = [[set(c) for c in bed.gate(theta=t / 100)] for t in range(0, 100, 10)]
    for low, high in pairwise(sets):
        assert all(h <= lo for lo, h in zip(low, high, strict=True))
    assert bed.outcome(bed.gate(theta=1.1), pool=True).empty == 100


def test_the_gate_keeps_order_and_number(bed: EmbeddedCatalogue) -> None:
    for row, chosen in zip(bed.iso, bed.gate(theta=-1, k=3, state=False), strict=True):
        assert len(chosen) == 3
        assert [row[i] for i in chosen] == sorted(row, reverse=True)[:3]


def test_preconditions_leave_out_what_writes_elsewhere(bed: EmbeddedCatalogue) -> None:
    first = {bed.ids[i] for i in bed.gate(theta=-1, k=99)[0]}  # a mail is asked for
    assert "mail/send_mail" in first
    assert "files/read_file" in first
    assert "files/delete_file" not in first


def test_words_alone_find_what_shares_words(bed: EmbeddedCatalogue) -> None:
    chosen = bed.gate(tf_idf(bed), theta=0.05, state=False)
    assert bed.ids[chosen[2][0]] == "music/stop_music"
