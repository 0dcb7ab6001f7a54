"""A newcomer's window has few controls; the others appear once they are needed or switched on."""

from contextlib import closing

import pytest
from hosts_kit import CODEX, put_files
from query_set_kit import labelled

from app.core.settings import Settings
from app.hooks import files
from app.hosts.facts import host
from app.policy.profiles import create
from store import queries
from store.connection import transaction
from ui.windows.settings_dialog import SettingsDialog


@pytest.fixture
def home(places):
    return put_files(places)


@pytest.fixture
def window(home, fill, open_window):
    fill()
    return open_window()


def action(window, text):
    actions = [a for menu in window.menuBar().actions() for a in menu.menu().actions()]
    return next(a for a in actions if a.text().replace("&", "") == text)


def tabs_shown(dialog):
    tabs = dialog.tabs
    return [tabs.tabText(n).replace("&", "") for n in range(tabs.count()) if tabs.isTabVisible(n)]


@pytest.fixture
def dialog(window):
    window.open_settings("profile")
    dialog = window.findChild(SettingsDialog)
    yield dialog
    dialog.reject()


def hosts_page(window, qtbot, name="codex"):
    window.open_page("hosts")
    qtbot.waitUntil(lambda: window.page.model.find(name) is not None)
    window.page.choose(name)
    window.page.detail.radios["through"].click()
    qtbot.waitUntil(lambda: window.tasks.idle)
    return window.page.detail


def test_a_first_window_shows_none_of_it(window, qtbot):
    assert not window.commands.profiles.menuAction().isVisible()
    window.open_page("playground")
    assert not window.page.tabs.isVisible()
    detail = hosts_page(window, qtbot)
    assert detail.hook.isHidden() and detail.rules.isHidden() and detail.http.isHidden()


def test_settings_show_what_is_needed_first(dialog):
    assert tabs_shown(dialog) == ["Profile", "Window", "Reading and keeping"]
    assert dialog.profile.fields["new_tools"].isVisible()
    assert dialog.profile.fields["scopes"].isHidden()


def test_one_switch_shows_everything_and_is_kept(window, qtbot, ctx):
    detail = hosts_page(window, qtbot)
    action(window, "Show advanced").trigger()
    assert not (detail.hook.isHidden() or detail.rules.isHidden() or detail.http.isHidden())
    assert window.commands.profiles.menuAction().isVisible()
    window.open_page("playground")
    assert window.page.tabs.isVisible()
    assert Settings.load(ctx.paths.settings_file).advanced
    action(window, "Show advanced").trigger()
    assert not window.page.tabs.isVisible() and detail.hook.isHidden()


def test_the_switch_in_the_settings_is_the_same_one(window, dialog):
    dialog.every.click()
    assert tabs_shown(dialog)[-2:] == ["HTTP", "Login"]
    assert not dialog.profile.fields["scopes"].isHidden()
    assert window.services.advanced.on
    dialog.every.click()
    assert tabs_shown(dialog)[-1] == "Reading and keeping"


def test_a_setting_that_is_searched_for_is_shown(dialog):
    dialog.search.setText("loop")
    assert not dialog.profile.fields["gateway.loop_exempt"].isHidden()
    dialog.search.setText("login")
    assert "Login" in tabs_shown(dialog)
    dialog.search.setText("")
    assert dialog.profile.fields["gateway.loop_exempt"].isHidden()


def test_a_tab_that_another_page_opens_is_shown(window):
    window.open_settings("login")
    dialog = window.findChild(SettingsDialog)
    assert dialog.tabs.tabText(dialog.tabs.currentIndex()) == "&Login"
    dialog.reject()


def test_the_query_set_appears_with_the_first_label(window, qtbot, ctx):
    window.open_page("playground")
    with closing(ctx.open_store()) as db, transaction(db):
        queries.save_labels(db, labelled(1))
    window.live.load()
    qtbot.waitUntil(lambda: window.page.tabs.isVisible())
    assert window.page.tabs.isTabVisible(1) and window.page.tabs.isTabVisible(2)


def test_profiles_appear_with_the_second_one(window, qtbot, ctx):
    with closing(ctx.open_store()) as db:
        create(db, "work")
    window.live.load()
    qtbot.waitUntil(lambda: window.commands.profiles.menuAction().isVisible())


def test_a_hook_that_is_installed_is_shown(home, places, fill, open_window, qtbot, ctx):
    fill()
    with closing(ctx.open_store()) as db:
        plan = files.change_plan(db, places, host("codex"), profile="default", wanted=True)
        files.install(plan, ctx, db)
    assert (home / CODEX).exists()
    detail = hosts_page(open_window(), qtbot)
    qtbot.waitUntil(lambda: not detail.hook.isHidden())
    assert detail.hook.switch.isChecked() and detail.rules.isHidden()


def test_a_tab_that_a_command_opens_can_be_left_again(window):
    window.open_page("playground")
    page = window.page
    page.open_tab(1)  # as File, Import query set does
    assert page.tabs.isVisible() and page.tabs.isTabVisible(0)
    page.open_tab(0)
    assert not page.tabs.isVisible()
