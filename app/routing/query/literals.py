"""Literals in a query: paths, addresses and ids, read as the kind of thing that they are.

A prompt's words are compared, and the words of a path say where a file lies and not what is wanted
of it: "what files are in /root/music" is no question for a music library. Chosen on the queries of
five sets with a literal in the half whose hash is even (nDCG@10 of them, macro, 68.5 to 73.5);
e-mail addresses and bare file names stay as they are (-5 on one set; no difference).
"""

import re

from app.routing.text import LONGEST_QUERY

# documents: what they are called says what is in them; other files keep their name (nginx.conf)
_KINDS = {
    **{ending: f"{ending} file" for ending in ("csv", "tsv", "pdf", "json", "xml", "yaml", "html")},
    "md": "markdown file",
    "doc": "word document",
    "docx": "word document",
    "xls": "excel spreadsheet",
    "xlsx": "excel spreadsheet",
    "ppt": "powerpoint presentation",
    "pptx": "powerpoint presentation",
    "txt": "text file",
    **dict.fromkeys(("png", "jpg", "jpeg", "gif", "webp"), "image file"),
    "svg": "svg image",
    **dict.fromkeys(("mp3", "wav"), "audio file"),
    **dict.fromkeys(("mp4", "mov"), "video file"),
    "yml": "yaml file",
    "htm": "html file",
    "py": "python file",
    "js": "javascript file",
    **dict.fromkeys(("ts", "tsx"), "typescript file"),
    "zip": "zip archive",
    "log": "log file",
    "sql": "sql file",
}
_FOLDER, _ADDRESS = "folder", "page"
# each begins only where a word could, so that no text is looked at twice
_ID = re.compile(
    r"(?<![\w/+.])(?:"
    r"(?=[A-Za-z+/]{0,200}\d)[A-Za-z0-9+/]{48,}={0,2}"  # Base64; a tool's long name has no digit
    r"|[0-9a-fA-F]{16,}"
    r"|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}"
    r")(?!\w)"
)
_URL = re.compile(
    r"\b(?:[a-z][a-z+]{1,9}://|www\.)([\w\-]+(?:\.[\w\-]+)*)(?::\d{1,5})?((?:/[\w.%~@+\-]*)*)"
    r"(?:[?#][^\s'\"<>)\]]*)?"
)
_PATH = re.compile(
    r"(?<![\w/\\:.<>%@\-])(?:"
    r"(?:~|\.{1,2}|[A-Za-z]:|%\w{1,40}%|\$\w{1,40})[/\\]{1,2}[\w.\-]*(?:[/\\][\w.\-]*)*"
    r"|[/\\]{1,2}(?:[\w.\-]+[/\\])+[\w.\-]*"
    r"|(?:[\w.\-]+[/\\])+[\w\-]+\.[A-Za-z]\w{0,4}"  # a relative one ends in a file
    r")(?![\w/\\])"
)
_ENDING = re.compile(r"[^/\\]\.([A-Za-z]\w{0,4})\Z")
_METHOD = re.compile(r"\b(?:GET|POST|PUT|PATCH|DELETE|HEAD)\s\Z")  # before a path of an API
_LETTER = re.compile(r"[^\W\d_]")
_NOT_SITES = frozenset(("ac", "co", "com", "gov", "net", "org"))  # before a country's letters


def read_literals(query: str) -> str:
    """The query with each path, URL and long id as the kind of thing that it is.

    "sort /data/q3.csv, see https://docs.acme.io/guide" is "sort csv file, see acme guide page".
    """
    text = _ID.sub(" ", query[:LONGEST_QUERY])
    return _PATH.sub(_path, _URL.sub(_url, text))


def _url(match: re.Match[str]) -> str:
    """The site's name and the words of the page's address."""
    words = [word for word in re.split(r"[/.%~@+\-_]+", match[2]) if word.isalpha()]
    stop = "." if match[0].endswith(".") else ""
    return " ".join((*_site(match[1]), *words, _ADDRESS)) + stop


def _site(host: str) -> tuple[str, ...]:
    """The one label of a host's name that says whose it is; none of a bare address."""
    labels = host.removeprefix("www.").split(".")
    if labels[-1].isdigit():
        return ()
    owners = labels[:-1] or labels
    return (owners[-2] if len(owners) > 1 and owners[-1] in _NOT_SITES else owners[-1],)


def _before(match: re.Match[str]) -> str:
    return match.string[max(0, match.start() - 8) : match.start()]


def _path(match: re.Match[str]) -> str:
    path = match[0].removesuffix(".")
    if not _LETTER.search(path) or _METHOD.search(_before(match)):
        return match[0]
    ending = _ENDING.search(path)
    name = re.split(r"[/\\]", path)[-1]
    kind = _KINDS.get(ending[1].lower(), f"{name} file") if ending else _FOLDER
    return kind + match[0][len(path) :]
