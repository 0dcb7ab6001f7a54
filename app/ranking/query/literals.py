"""Literals in a query: paths, addresses and ids, read as the kind of thing that they are.

A prompt's words are compared, and the words of a path say where a file lies and not what is wanted
of it: "what files are in /root/music" is no question for a music library. E-mail addresses and bare
file names stay as they are.
"""

import re

from app.ranking.text import LONGEST_QUERY, clauses, content_words

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
# besides those, endings that mark a relative path among words with a slash and a dot
_CODE = frozenset(
    (
        *("c", "cfg", "conf", "cpp", "cs", "css", "db", "env", "go", "h", "ini", "ipynb", "java"),
        *("jsx", "kt", "lock", "parquet", "php", "rb", "rs", "scss", "sh", "sqlite", "swift"),
        *("tf", "toml", "vue"),
    )
)
_FOLDER, _ADDRESS = "folder", "page"
# letters of names: Chinese, Japanese and Korean words follow a path without a blank
_W = r"0-9A-Za-z_\u00c0-\u024f\u0370-\u052f"
_NAME = rf"[{_W}.\-]"
# each begins only where a word could, so that no text is looked at twice
_ID = re.compile(
    rf"(?<![{_W}/+.])(?:"
    # Base64: long, with a long run and with several digits, which a tool's long name has not
    r"(?=(?:[A-Za-z+/]{0,200}\d){3})(?=[A-Za-z0-9+/]*?[A-Za-z0-9+]{40})[A-Za-z0-9+/]{48,}={0,2}"
    r"|(?=\d{0,200}[a-fA-F])[0-9a-fA-F]{16,}"
    r"|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}"
    rf")(?![{_W}])"
)
_URL = re.compile(
    r"\b(?i:(?:https?|ftp)://(?:[^\s/@]{1,80}@)?|www\.)"
    rf"([{_W}\-]+(?:\.[{_W}\-]+)*)(?::\d{{1,5}})?((?:/[{_W}.%~@+\-]*)*)"
    r"(?:[?#](?:[!-~]*[A-Za-z0-9/=&%_\-])?)?"
)
_PATH = re.compile(
    rf"(?<![{_W}/\\:.<>%@\-])(?:"
    rf"(?:~|\.{{1,2}}|[A-Za-z]:|%\w{{1,40}}%|\$[A-Za-z_]\w{{0,39}})[/\\]{{1,2}}{_NAME}*(?:[/\\]{_NAME}*)*"
    rf"|(?:\\\\{_NAME}+\\|/)(?:{_NAME}+[/\\])+{_NAME}*"
    rf"|(?:{_NAME}+[/\\])+[{_W}\-]+\.[A-Za-z][A-Za-z0-9]{{0,6}}(?!-)"
    rf")(?![{_W}/\\])"
)
_ENDING = re.compile(r"[^/\\]\.([A-Za-z]\w{0,6})\Z", re.ASCII)
_ROOTED = re.compile(r"[~./\\$%]|[A-Za-z]:")
_LIBRARY = re.compile(r"[A-Z][\w.]*/[A-Z]\w*\.js\Z")  # React/Next.js
_METHOD = re.compile(r"\b(?:GET|POST|PUT|PATCH|DELETE|HEAD)\s\Z")  # before a path of an API
_LETTER = re.compile(r"[^\W\d_]")
_NOT_SITES = frozenset(("ac", "co", "com", "gov", "net", "org"))  # before a country's letters
_LEAST_STEP = 2  # content words


def read_literals(query: str) -> str:
    """The query with each path, URL and long id as the kind of thing that it is.

    "sort /data/q3.csv, see https://docs.acme.io/guide" is "sort csv file, see acme guide page".
    """
    text = query[:LONGEST_QUERY]
    read = _read(text)
    return read if read.strip() else text  # an id alone is all that was asked


def read_steps(query: str) -> list[str]:
    """The steps of a request, as typed, that say something beside their literals; [] for one."""
    steps = [step for step in clauses(query) if len(content_words(_read(step))) >= _LEAST_STEP]
    return steps if len(steps) > 1 else []


def _read(text: str) -> str:
    return _PATH.sub(_path, _URL.sub(_url, _ID.sub(" ", text)))


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


def _is_words(path: str, ending: re.Match[str] | None) -> bool:
    """True if it may as well be words: relative, without the ending of a file."""
    if _ROOTED.match(path):
        return False
    known = ending is not None and (ending[1] in _KINDS or ending[1] in _CODE)
    return not known or bool(_LIBRARY.match(path))


def _before(match: re.Match[str]) -> str:
    return match.string[max(0, match.start() - 8) : match.start()]


def _path(match: re.Match[str]) -> str:
    path = match[0].removesuffix(".")
    ending = _ENDING.search(path)
    if not _LETTER.search(path) or _METHOD.search(_before(match)) or _is_words(path, ending):
        return match[0]
    name = re.split(r"[/\\]", path)[-1]
    kind = _KINDS.get(ending[1].lower(), f"{name} file") if ending else _FOLDER
    return kind + match[0][len(path) :]
