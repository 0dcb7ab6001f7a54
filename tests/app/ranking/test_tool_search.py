"""Claude Code's own ToolSearch, emulated: a case for each rule of its program (2.1.330)."""

import pytest

from app.ranking.tool_search import DESCRIPTION, HINT, NAME, Deferred, ToolSearch


def found(query, *tools, most=5):
    search = ToolSearch([Deferred(*tool) for tool in tools])
    return [(tools[hit.place][1], hit.score) for hit in search.find(query, most)]


def test_a_word_equal_to_a_part_of_a_name_counts_twelve_and_inside_one_six():
    assert found("issue", ("x", "get_issue", "")) == [("get_issue", 16)]  # and 4: inside the name
    assert found("iss", ("x", "get_issue", "")) == [("get_issue", 10)]


def test_a_word_equal_to_a_whole_name_counts_twelve_more_and_inside_one_four():
    assert found("github", ("github", "merge", "")) == [("merge", 24)]
    assert found("git", ("github", "merge", "")) == [("merge", 10)]


@pytest.mark.parametrize("name", ["get.issue", "get issue", "get_issue"])
def test_names_are_split_at_spaces_dots_and_underscores(name):
    assert found("issue", ("x", name, "")) == [(name, 16)]


@pytest.mark.parametrize("name", ["get-issue", "getIssue"])
def test_names_are_not_split_at_hyphens_nor_where_capitals_begin(name):
    assert found("issue", ("x", name, "")) == [(name, 10)]


def test_three_for_the_joined_name_are_only_given_while_the_score_is_nothing():
    # words hold no blank, so what is in the joined name counted as a part before
    assert found("b", ("a_b", "c_d", "")) == [("c_d", 16)]


def test_a_whole_word_of_the_hint_counts_four_and_of_the_description_two():
    tool = ("x", "y", "Sends letters.", "mail post")
    search = ToolSearch([Deferred(*tool)])
    assert search.find("mail")[0].parts == ((HINT, 4),)
    assert search.find("letters")[0].parts == ((DESCRIPTION, 2),)
    assert search.find("mail letters")[0].score == 6
    assert search.find("letter") == search.find("mai") == ()
    assert search.find("mail letters ink")[0].words == ("mail", "letters")


def test_a_repeated_word_counts_again():
    assert found("mail mail", ("x", "y", "mail")) == [("y", 4)]


def test_a_hint_counts_only_to_its_4096th_character_and_a_description_to_its_2048th():
    assert found("late", ("x", "y", "", f"{'a ' * 2048}late")) == []
    assert found("late", ("x", "y", f"{'a ' * 1024}late")) == []
    assert found("late", ("x", "y", f"{'a ' * 1000}late")) == [("y", 2)]


def test_the_first_thirty_two_words_in_lower_case_are_read():
    filler = " ".join(["zz"] * 31)
    assert found(f"{filler} MAIL", ("x", "y", "Mail.")) == [("y", 2)]
    assert found(f"{filler} zz mail", ("x", "y", "Mail.")) == []


def test_punctuation_stays_on_a_word():
    assert found("mail?", ("x", "send_mail", "mail")) == []


def test_words_with_a_plus_are_required_and_count():
    tools = ("x", "send_mail", "Post a letter."), ("x", "send_fax", "Post by mail.")
    assert found("send +letter", *tools) == [("send_mail", 18)]
    assert found("+mail", *tools) == [("send_mail", 16), ("send_fax", 2)]
    assert found("+ send", *tools) == [("send_mail", 16), ("send_fax", 16)]


def test_select_loads_by_name_and_knows_no_other():
    tools = ("my server", "a", ""), ("my server", "b", ""), ("my server", "c", "")
    got = found("select:mcp__my_server__c, mcp__my_server__A,mcp__none__d", *tools)
    assert got == [("c", 0), ("a", 0)]
    assert found("select:nothing", *tools) == []


def test_a_query_equal_to_a_tools_name_wins():
    tools = ("x", "send_mail", ""), ("x", "send", "")
    assert found("MCP__x__send", *tools) == [("send", 0)]


def test_the_beginning_of_a_name_lists_by_it():
    tools = ("x", "b", ""), ("x", "a", ""), ("y", "c", "")
    assert found("mcp__x", *tools) == [("b", 0), ("a", 0)]
    assert found("mcp__z", *tools) == []


def test_equal_scores_keep_the_hosts_order_and_five_are_given():
    tools = [("x", f"t{n}", "mail") for n in (3, 1, 2, 9, 8, 7)]
    assert [name for name, _ in found("mail", *tools)] == ["t3", "t1", "t2", "t9", "t8"]
    assert len(found("mail", *tools, most=6)) == 6


def test_better_scores_come_first():
    tools = ("x", "a", "mail"), ("x", "mail", "")
    assert found("mail", *tools) == [("mail", 28 - 4), ("a", 2)]
    assert ToolSearch([Deferred(*tools[1])]).find("mail")[0].parts == ((NAME, 24),)


def test_keywords_are_the_rarest_words_that_any_tool_has():
    tools = [Deferred("x", f"send_{n}", "Send a message.") for n in range(3)]
    search = ToolSearch([*tools, Deferred("y", "create_invoice", "Send a bill.")])
    assert search.keywords("please send the invoice to my unicorn") == "invoice send"
    assert search.finds("send an invoice for the work", {3})
    assert not search.finds("write to my boss", {0, 1, 2, 3})
