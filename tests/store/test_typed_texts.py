"""Texts of the past lose what is to be hidden, and no row of another writer is touched."""

import apsw

from store import typed_texts


def test_a_row_that_took_the_id_of_another_meanwhile_keeps_its_text(db: apsw.Connection) -> None:
    add = "INSERT INTO labels (id, query, expected, source, at) VALUES (?, ?, 'a/b', 'user', 1)"
    db.execute(add, (1, "begin with s3cret"))
    db.execute(add, (2, "end with s3cret"))

    def hide(text: str) -> str:
        if "end" in text:  # another program, while the texts are read
            db.execute("DELETE FROM labels WHERE id = 1")
            db.execute(add, (1, "another query"))
        return text.replace("s3cret", "••••")

    typed_texts.rewrite(db, hide)
    queries = [row[0] for row in db.execute("SELECT query FROM labels ORDER BY id")]
    assert queries == ["another query", "end with ••••"]
