"""The playground over a real store, with the real encoder."""

import json
from dataclasses import replace
from types import SimpleNamespace

import pytest
from PySide6.QtCore import QEvent, QSettings, Qt
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QApplication, QLabel, QWidget

from app.core.settings import ProfileSettings
from app.export.model_tools import model_tools
from app.gateway.rehearsal import rehearse, rehearse_hook
from app.hosts.facts import host
from app.ranking import phrases
from app.ranking.gates import SCORE, Verdict
from app.tokens.counters import counter
from store import servers
from store.connection import transaction
from store.records import AS_IS, EntryRecord
from ui.pages.playground.candidates import TOKENS, WHY
from ui.pages.playground.model_sees import HOOK
from ui.pages.playground.model_text import LoadedModels, model_text
from ui.pages.playground.page import PlaygroundPage
from ui.pages.playground.try_tab import SIDE
from ui.pages.playground.weights_dialog import WeightsDialog
from ui.shell.query_session import OFF, READY

QUERY = "merge a pull request"
TOOLS = 158  # in the stock


@pytest.fixture
def page(open_playground, qtbot):
    """The first tab, with the encoder loaded."""
    page = open_playground().tried
    qtbot.waitUntil(lambda: page.session.state == READY, timeout=30_000)
    return page


def ask(page, qtbot, query=QUERY):
    page.query.submit_query(query)
    qtbot.waitUntil(lambda: page.answer is not None and page.answer.ranked.query == query)
    return page.answer


def verdicts(page):
    model = page.table.model
    return {model.index(r, 2).data(): model.index(r, 1).data() for r in range(model.rowCount())}


def drag(strip, start, end):
    def send(kind, point, button, held):
        where = strip.viewport().mapToGlobal(point)
        event = QMouseEvent(kind, point, where, button, held, Qt.KeyboardModifier.NoModifier)
        QApplication.sendEvent(strip.viewport(), event)
        QApplication.processEvents()

    none, left = Qt.MouseButton.NoButton, Qt.MouseButton.LeftButton
    points = [strip.point_of(start + (end - start) * n / 10) for n in range(11)]
    send(QEvent.Type.MouseMove, points[0], none, none)
    send(QEvent.Type.MouseButtonPress, points[0], left, left)
    for point in points[1:]:
        send(QEvent.Type.MouseMove, point, none, left)
        yield
    send(QEvent.Type.MouseButtonRelease, points[-1], left, none)


def test_a_query_ranks_every_tool_and_each_says_why(page, qtbot):
    answer = ask(page, qtbot)
    model = page.table.model
    assert model.rowCount() == TOOLS
    assert model.index(0, 2).data() == "github/merge_pull_request"
    assert model.index(0, 1).data() == "In"
    assert all(model.index(row, 4).data() for row in range(model.rowCount()))
    assert not answer.ranked.words_only
    tokens = f"· {answer.ranked.tokens:,} of {page.services.live.total:,} tokens ≈"
    assert page.controls.headline.text().endswith(tokens)


def test_a_query_without_a_known_word_says_so_and_what_to_do(page, qtbot):
    results = []
    page.result.connect(results.append)
    ask(page, qtbot, "asdfqwer zxcv")
    texts = [label.text() for label in page.empty.findChildren(QLabel) if label.isVisible()]
    assert texts[1:3] == [
        "No word of this query is known",
        "So no tool was ranked. Say in other words what a tool should do, as in these examples.",
    ]
    assert page.empty.examples and not page.table.isVisible()
    assert results[-1] == "No tool was ranked" and not page.messages.text
    ask(page, qtbot)
    assert page.table.isVisible() and " tools in, " in results[-1]
    assert texts[1] not in [label.text() for label in page.empty.findChildren(QLabel)]


def test_the_explain_card_marks_the_gate_that_fails_and_its_parts_sum(page, qtbot):
    answer = ask(page, qtbot)
    page.table.choose("slack/post_message")
    tool = page.table.current
    names = [
        row.accessibleName()
        for row in page.explain.findChildren(QWidget)
        if "Score:" in row.accessibleName()
    ]
    assert names == [f"Score: failed, {tool.score:.2f} is under {answer.line.value:.2f}"]
    assert sum(part for _, part in tool.parts) == pytest.approx(tool.score, abs=0.005)
    assert page.explain._tier.isHidden()  # it is out
    page.table.choose(answer.ranked.shown[0].tool_id)
    assert page.explain._tier.text().startswith("Found by comparing its text with the query")


def test_dragging_the_threshold_moves_everything_and_is_one_undo_step(page, qtbot):
    answer = ask(page, qtbot)
    strip, start = page.strip.plot, answer.line.value
    seen = []
    for _ in drag(strip, start, 0.2):
        seen.append((page.controls.threshold.value(), len(page.answer.ranked.shown)))
    assert len({value for value, _ in seen}) > 5, "the spin box follows during the drag"
    assert seen[-1][1] > len(answer.ranked.shown)
    assert list(verdicts(page).values()).count("In") == len(page.answer.ranked.shown)
    assert page.services.undo.count() == 1
    assert page.services.undo.undoText() == (
        f"Set threshold to {page.answer.settings.delta:.2f} below the best"
    )
    assert page.controls.cut.itemText(0) == f"{page.answer.settings.delta:.2f} below the best"
    assert page.controls.cut.shown == page.controls.cut.currentText()
    page.services.undo.undo()
    assert page.answer.ranked == answer.ranked
    assert strip.threshold == pytest.approx(start, abs=0.001)


def test_keys_on_the_strip_and_the_spin_box_do_the_same(page, qtbot):
    first = ask(page, qtbot)
    page.controls.threshold.setValue(0.5)
    by_spin = page.answer.ranked
    page.services.undo.undo()
    assert page.answer.ranked == first.ranked
    page.controls.threshold.setValue(0.49)
    qtbot.keyClick(page.strip.plot, Qt.Key.Key_Right)
    assert page.answer.ranked == by_spin


def test_settings_are_kept_in_the_profile(page, qtbot):
    ask(page, qtbot)
    page.controls.topk.setValue(3)
    page.controls.cut.setCurrentIndex(1)
    page.controls.cut.activated.emit(1)
    qtbot.waitUntil(lambda: page.services.tasks.idle)
    db = page.services.ctx.open_store()
    stored = db.execute("SELECT settings FROM profiles WHERE name = 'default'").fetchone()[0]
    db.close()
    routing = ProfileSettings.from_json(json.loads(stored)).routing
    assert (routing.k, routing.cut) == (3, "theta")
    assert page.table.model.headerData(3, Qt.Orientation.Horizontal) == "Meaning"


def test_a_tool_of_low_rank_is_pinned_on_top_and_brought_in_and_undone(page, qtbot):
    ask(page, qtbot)
    ranked = page.answer.ranked.tools
    names = " ".join(tool.name for tool in ranked)
    row = next(t for t in ranked if t.rank >= 150 and names.count(t.name) == 1)
    page.table.filter.setText(row.name)
    first = page.table.model.row(0)
    assert first.tool_id == row.tool_id
    assert not first.shown and phrases.why(first.verdict)
    assert page.explain.button.isVisible()
    page.explain.button.click()
    qtbot.waitUntil(lambda: page.answer.find(row.tool_id).shown)
    assert page.services.undo.count() == 1
    page.services.undo.undo()
    qtbot.waitUntil(lambda: not page.answer.find(row.tool_id).shown)


def test_a_name_that_no_tool_has_is_answered(page, qtbot):
    ask(page, qtbot)
    assert not page.table.none.isVisible()
    page.table.filter.setText("no_such_tool_at_all")
    assert page.table.none.isVisible() and "its server was read" in page.table.none.text()
    page.table.filter.setText(page.answer.ranked.tools[0].name)
    assert not page.table.none.isVisible()


def test_a_tool_that_is_off_says_so_and_can_be_turned_on(page, qtbot):
    live = page.services.live
    best = live.catalog.find("github/merge_pull_request")
    live.set_on([best.tool.id], False)
    ask(page, qtbot)
    page.table.choose("github/merge_pull_request")
    assert verdicts(page)["github/merge_pull_request"] == "Out"
    assert phrases.why(page.table.current.verdict) == "It is turned off in this profile"
    page.explain.button.click()
    qtbot.waitUntil(lambda: page.answer.find("github/merge_pull_request").shown)
    assert page.services.undo.undoText() == "Turn on merge_pull_request"


def test_what_the_model_sees_is_what_the_gateway_answers(page, qtbot):
    ask(page, qtbot)
    page.controls.sees.click()
    qtbot.waitUntil(lambda: page.sees.text != "")
    database, encoder = str(page.services.ctx.paths.database), page.session.encoder
    heard = rehearse(database, "default", query=QUERY, encoder=encoder)
    assert page.sees.text == heard.tools
    assert [t["name"] for t in json.loads(heard.tools)["tools"]] == ["search_tools", "call_tool"]
    tokens = counter("o200k_base").count(heard.tools)
    assert page.sees.measure.text() == f"2 tools · {tokens:,} tokens ≈ at the first request"
    page.sees.part.setCurrentIndex(1)
    assert page.sees.text == heard.search
    assert heard.search.startswith(("github/", "No tool"))
    page.sees.copy()
    assert QApplication.clipboard().text() == page.sees.text
    assert page.escape()
    assert not page.controls.sees.isChecked()


def hook_part(page, qtbot, query):
    """What the view "Prompt hook" shows for a query: text and the sentence above it."""
    ask(page, qtbot, query)
    if not page.controls.sees.isChecked():
        page.controls.sees.click()
    page.sees.part.setCurrentIndex(HOOK)
    qtbot.waitUntil(lambda: page.services.tasks.idle, timeout=30_000)
    return page.sees.text, page.sees.measure.text()


def test_the_prompt_hook_shows_what_would_be_added_and_why(page, qtbot):
    query = "please merge the pull request with number 7 into main"
    text, why = hook_part(page, qtbot, query)
    database, encoder = str(page.services.ctx.paths.database), page.session.encoder
    made = rehearse_hook(database, "default", host="", prompt=query, encoder=encoder)
    assert text == made.text and "github/merge_pull_request" in text
    tokens = counter("o200k_base").count(text)
    assert why.startswith(f"{tokens:,} tokens ≈ added to the request. Likeness of the best tool 0.")
    assert f"it needs {made.floor:.2f}" in why
    page.sees.copy()
    assert QApplication.clipboard().text() == text


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("thanks!", "Silent. The prompt is nearer to small talk than to any tool."),
        ("/compact", "Silent. The prompt is a command of the host: it begins with / or !."),
    ],
)
def test_the_prompt_hook_says_why_it_would_stay_silent(page, qtbot, query, why):
    text, sentence = hook_part(page, qtbot, query)
    assert text == ""
    assert sentence.startswith(why)
    assert page.sees.text_view.placeholderText() == "Nothing is added to this prompt."


def seen_by(page, facts, sent=None):
    """What the sheet shows of a host that is left as it is."""
    nothing = SimpleNamespace(direct=(), tools=(), count=0, tokens=0, later=0)
    size = SimpleNamespace(
        facts=facts, mode=AS_IS, profile="", host=facts.name, sent=sent or nothing
    )
    return model_text(
        page.services.ctx.paths.database,
        page.services.live.catalog,
        size,
        query=page.answer.ranked.query,
        encoder=page.session.encoder,
        loaded_models=LoadedModels(),
    )


def test_a_host_without_a_hook_says_so(page, qtbot):
    hook_part(page, qtbot, QUERY)
    made = seen_by(page, host("cursor"))
    assert made.hook.text == ""
    assert made.hook.why == "Toolcrib knows no hook of Cursor that can add to a prompt."


@pytest.fixture
def in_opencode(page, qtbot):
    """opencode's servers are those of the store, in its own file."""
    db = page.services.ctx.open_store()
    with transaction(db):
        for row in servers.all_servers(db):
            entry = EntryRecord("opencode", "user", "/home/me/opencode.json", row.name)
            servers.place(db, entry, row.spec, name=row.name, trusted=True)
    db.close()
    page.services.live.load()
    qtbot.waitUntil(lambda: page.services.tasks.idle, timeout=30_000)
    return host("opencode")


def test_a_list_that_a_hook_narrows_says_what_stays_and_what_it_saves(page, qtbot, in_opencode):
    hook_part(page, qtbot, "please merge the pull request with number 7 into main")
    sent = model_tools(in_opencode, AS_IS, page.services.live.catalog)
    made = seen_by(page, in_opencode, sent).hook
    names = made.text.splitlines()
    assert "github_merge_pull_request" in names
    assert 0 < len(names) <= 10
    assert made.why.startswith(f"The list form leaves {158 - len(names)} of 158 tools out of this")
    gone = [row for row in sent.tools if f"{row.server.name}_{row.tool.name}" not in names]
    assert f" {sum(row.cost for row in gone):,} tokens ≈." in made.why


def test_a_list_that_stays_whole_says_why(page, qtbot, in_opencode):
    hook_part(page, qtbot, "thanks!")
    sent = model_tools(in_opencode, AS_IS, page.services.live.catalog)
    made = seen_by(page, in_opencode, sent).hook
    assert made.text == ""
    assert made.why.startswith("The list form leaves the list whole. The prompt is nearer to small")


def test_an_overtaken_question_is_never_shown(page, qtbot):
    answers = []
    page.session.answered.connect(lambda answer: answers.append(answer.ranked.query))
    for query in ("read a file", "what time is it", QUERY):
        page.session.submit(query)
    qtbot.waitUntil(lambda: page.services.tasks.idle)
    assert answers == [QUERY]


def test_words_answer_until_the_encoder_is_there(open_playground, qtbot):
    page = open_playground().tried
    assert "Words only until then" in page.messages.text
    page.query.submit_query(QUERY)
    qtbot.waitUntil(lambda: page.answer is not None)
    early = page.answer.ranked
    qtbot.waitUntil(lambda: page.answer.ranked.words_only is False, timeout=30_000)
    assert early.tools[0].iso is None or not early.words_only
    assert page.messages.text == ""


def test_without_a_model_the_page_says_words_only_and_offers_to_try_again(
    stocked, open_playground, qtbot
):
    stocked.tasks.ctx = replace(
        stocked.ctx, settings=replace(stocked.ctx.settings, model="/no/such/model")
    )
    page = open_playground().tried
    qtbot.waitUntil(lambda: page.session.state == OFF and bool(page.session.problem))
    gone = "The encoder's folder /no/such/model is missing."
    assert page.messages.text == f"Meaning scores are off: {gone} Words only."
    assert ask(page, qtbot).ranked.words_only
    assert page.table.current is not None


def test_examples_come_from_the_catalogue_and_can_be_run(page, qtbot):
    assert len(page.empty.examples) == 3
    page.empty.example_chosen.emit(page.empty.examples[0])
    qtbot.waitUntil(lambda: page.answer is not None)
    assert page.query.text() == page.empty.examples[0]


def test_with_no_tools_there_is_one_way_on(services, qtbot):
    whole = PlaygroundPage(services)
    qtbot.addWidget(whole)
    services.live.load()
    qtbot.waitUntil(lambda: services.live.catalog is not None)
    page = whole.tried
    assert page.empty.examples == ()
    page.empty.catalog.click()
    assert services.open_page.__self__.opened == ["catalog"]


def test_the_catalogue_can_ask_why_a_tool_is_in_or_out(page, qtbot):
    row = page.services.live.catalog.find("time/get_current_time")
    page.services.live.why.emit(row.tool.id)
    qtbot.waitUntil(lambda: page.answer is not None)
    assert page.query.text() == row.summary
    assert page.table.current.tool_id == "time/get_current_time"


def test_every_widget_that_takes_the_focus_has_a_name(page, qtbot):
    ask(page, qtbot)
    nameless = [
        f"{type(w).__name__} in {type(w.parent()).__name__}"
        for w in page.findChildren(QWidget)
        if w.isVisible()
        and w.focusPolicy() & Qt.FocusPolicy.TabFocus
        and not (w.accessibleName() or getattr(w, "text", str)())
        and w.objectName() != "qt_spinbox_lineedit"
    ]
    assert nameless == []


def test_weights_of_words_change_scores_are_kept_and_can_be_undone(page, qtbot):
    first = ask(page, qtbot)
    page.controls.weights.click()
    dialog = page.findChild(WeightsDialog)
    assert not dialog.reset.isEnabled()
    dialog.fields["name_weight"].setValue(0.0)
    dialog.fields["description_weight"].setValue(0.0)
    qtbot.waitUntil(lambda: page.answer.ranked.tools[0].keyword < first.ranked.tools[0].keyword)
    assert page.editor.stored.word_weights == (0.0, 0.0, 1.0, 1.0, 1.0)
    assert page.services.undo.undoText() == "Set weight of description to 0"
    dialog.reset.click()
    assert page.editor.stored.word_weights == (2.0, 1.0, 1.0, 1.0, 1.0)
    qtbot.waitUntil(lambda: page.answer.ranked == first.ranked)
    dialog.reject()
    page.services.undo.undo()
    assert page.editor.stored.name_weight == 0.0


def test_a_request_of_several_steps_names_the_best_tool_of_each(page, qtbot):
    query = (
        "Merge the pull request of the release branch in the repository, and then post a message"
        " about it to the channel of the team"
    )
    answer = ask(page, qtbot, query)
    groups = phrases.steps(answer.ranked)
    assert "For “Merge the pull request" in groups
    assert groups.count("For “") == 2
    qtbot.waitUntil(lambda: groups in page.messages.text, timeout=20_000)
    ask(page, qtbot)
    qtbot.waitUntil(lambda: groups not in page.messages.text, timeout=20_000)


@pytest.mark.parametrize("zoom", [100, 200])
def test_a_narrow_table_keeps_room_for_names(page, theme, zoom):
    theme.set_zoom(zoom)
    page.resize(700, 600)
    view = page.table.view
    QApplication.processEvents()
    assert view.columnWidth(page.table.model.place("Tool")) >= 150 * zoom // 100
    theme.set_zoom(100)


def test_a_narrow_table_gives_up_the_scores_bar_before_the_reason(page, qtbot):
    ask(page, qtbot)
    model, view = page.table.model, page.table.view
    view.resize(520, 300)
    assert view.columnWidth(model.place("Score")) == 64
    others = sum(map(view.columnWidth, range(len(model.columns)))) - view.columnWidth(
        model.place("Why")
    )
    assert view.viewport().width() - others >= 90
    view.resize(900, 300)
    assert view.columnWidth(model.place("Score")) == 140


def test_the_smallest_window_shows_the_longest_score_reason_and_the_headline_whole(page, qtbot):
    ask(page, qtbot)
    page.window().resize(952, 470)  # as in a window of 1024 x 640
    model, view = page.table.model, page.table.view
    reason = phrases.why(Verdict(SCORE, have=0.62631, needed=0.63094))
    assert reason == "0.6263 is under 0.6309"
    wide = view.fontMetrics().horizontalAdvance(reason)
    QApplication.processEvents()
    assert view.viewport().width() < 640
    assert view.columnWidth(model.place(WHY)) >= wide + 2 * 6  # its margins
    assert view.columnWidth(model.place("Tool")) >= 150
    headline = page.controls.headline
    assert headline.fontMetrics().horizontalAdvance(headline.text()) <= headline.width()


def test_the_sheet_leaves_no_wide_side_behind_for_the_next_start(open_playground, tmp_path, qtbot):
    playground = open_playground()
    page = playground.tried
    qtbot.waitUntil(lambda: page.session.state == READY, timeout=30_000)
    ask(page, qtbot)
    page.controls.sees.setChecked(True)
    settings = QSettings(str(tmp_path / "kept.ini"), QSettings.Format.IniFormat)
    playground.save(settings, "playground")
    assert not page.controls.sees.isChecked()
    playground.restore(settings, "playground")
    table, side = page.table.parent().sizes()
    assert side == SIDE and table > side


def test_why_stays_readable_where_the_table_is_narrow(page, theme, qtbot):
    ask(page, qtbot)
    table = page.table
    view, why = table.view, table.model.place(WHY)
    try:
        theme.set_zoom(200)
        page.window().resize(1212, 640)
        qtbot.waitUntil(lambda: view.columnWidth(why) >= theme.scaled(110), timeout=20_000)
        assert view.isColumnHidden(table.model.place(TOKENS))
        theme.set_zoom(100)
        qtbot.waitUntil(lambda: not view.isColumnHidden(table.model.place(TOKENS)), timeout=20_000)
        qtbot.waitUntil(lambda: view.horizontalScrollBar().maximum() == 0, timeout=20_000)
        assert view.columnWidth(why) > 180
    finally:
        theme.set_zoom(100)
