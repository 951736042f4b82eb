"""The protocol of WebAgent-R1: the code that it reads as calls, and the code that it writes."""

from __future__ import annotations

import ast

import pytest

from components.agent.protocols import protocol
from components.records import ToolCall


def call(name: str, **arguments: object) -> ToolCall:
    return ToolCall(name=name, arguments=arguments)


@pytest.mark.parametrize(
    ("code", "wanted"),
    [
        ('do(action="Click", element="7")', call("click_element", element="7")),
        ("do(action='Click', element=7)", call("click_element", element="7")),
        ('do("Type", "it\'s", "12")', call("write_element", element="12", text="it's")),
        ("do(action=“Right Click”, element=“7”)", call("click_element", element="7", button="right")),
        ('do(action="Search", argument="a) b", element="f1e2")',
         call("write_element", element="f1e2", text="a) b", submit=True)),
        ('do(action="Scroll Down", element=None)', call("scroll", direction="down", amount=0.5)),
        ('do(action="Switch Tab", argument="1")', call("switch_tab", index="1")),
        ('do(action="Select Dropdown Option", argument="Month", element="20")',
         call("select_option", element="20", option="Month")),
        ('do(action="Press Enter")', call("press_keys", keys=["Enter"])),
        ('do(action="Hover", element="3")', call("hover_element", element="3")),
        ('do(action="Wait")', call("wait")),
        ('exit(message="N/A")', call("done", answer="N/A")),
        ("exit()", call("done", answer="")),
        ("go_backward()", call("go_back")),
        ("go_forward()", call("go_forward")),
        ('```\n# Element: a link\ndo(action="Click", element="7")\n```', call("click_element", element="7")),
        ('do(action="Type", argument="""Intro\n# Heading\ndo(it)""", element="5")',
         call("write_element", element="5", text="Intro\n# Heading\ndo(it)")),
        ("exit(message=12.50)", call("done", answer="12.50")),
        ("exit(message=1_000)", call("done", answer="1_000")),
        ("exit(message=-5)", call("done", answer="-5")),
        ('do(action="Click", element="7")  # then do(action="Wait")', call("click_element", element="7")),
        ('do(action="Click", element="7")\n# then do(action="Wait")', call("click_element", element="7")),
    ],
)  # fmt: skip
def test_webagent_r1_code_is_read_as_calls(code, wanted):
    bare = protocol("webagent_r1_bare").parse(code)
    assert (bare.calls, bare.error) == ([wanted], None)
    thinking = protocol("webagent_r1").parse(f"<think>why</think>\n<answer>{code}</answer>")
    assert (thinking.calls, thinking.error) == ([wanted], None)


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ('do(action="Fly", element="7")', "unknown action"),
        ('do(action="Click")', "needs an element"),
        ('do(action="Type", element="7")', "needs an argument"),
        ('do(action="Switch Tab", argument="x")', "index"),
        ("do(action=__import__('os'), element='1')", "strings or numbers"),
        ('do(action="Click", element="7"', "not closed"),
        ('do(action="Click", element="7", when="now")', "no argument when"),
        ("click the button", "no call"),
    ],
)
def test_webagent_r1_names_what_is_wrong(code, reason):
    assert reason in (protocol("webagent_r1_bare").parse(code).error or "")


def test_a_response_that_repeats_itself_is_read_in_little_time(monkeypatch):
    """Meanwhile no other episode goes on."""
    tries = []
    parse_code = ast.parse

    def counted(*args: object, **options: object) -> ast.AST:
        tries.append(args)
        return parse_code(*args, **options)

    monkeypatch.setattr(ast, "parse", counted)
    parse = protocol("webagent_r1_bare").parse
    assert "not closed" in (parse('do("' + ")" * 19_000).error or "")
    assert len(tries) < 500
    many = "exit(message='" + "(a) " * 500 + "')"
    assert parse(many).calls[0].arguments["answer"] == "(a) " * 500


def test_webagent_r1_runs_the_first_of_two_actions_and_reports_the_second():
    parsed = protocol("webagent_r1_bare").parse('do(action="Click", element="7")\ndo(action="Click", element="8")')
    assert parsed.error is None
    assert [one.error for one in parsed.calls] == [None, "only one action per round: 1 more were not run"]


CLICK = 'do(action="Click", element="9")'


@pytest.mark.parametrize("thought", ["I could call go_backward().", "I should not do(that).", "exit(message='no')?"])
@pytest.mark.parametrize("opening", ["<think>\n", ""])
def test_webagent_r1_bare_runs_no_call_of_separate_reasoning(opening, thought):
    """An endpoint returns it separately, or a Thinking model writes it; some servers leave out the opening tag."""
    parsed = protocol("webagent_r1_bare").parse(f"{opening}{thought}\n</think>\n\n# Element: the item\n{CLICK}")
    assert parsed == (f"{thought}\n# Element: the item", [call("click_element", element="9")], None)


def test_webagent_r1_bare_runs_no_call_of_reasoning_without_an_end():
    parsed = protocol("webagent_r1_bare").parse(f"<think>\nSo {CLICK}? Or")
    assert (parsed.calls, parsed.error) == ([], "no closing </think> tag")


@pytest.mark.parametrize("name", ["webagent_r1", "webagent_r1_bare"])
@pytest.mark.parametrize("text", ["a 27”) b", "‘x’) “y”)", "a\u2028b", "a\x85b", "a\x0cb\x1eb", "a\nb\r# c", '"(“'])
def test_webagent_r1_reads_back_the_text_that_it_writes(name, text):
    written = protocol(name)
    for made in (call("done", answer=text), call("write_element", element="7", text=text)):
        parsed = written.parse(written.write("why", [made]))
        assert (parsed.calls, parsed.error) == ([made], None)


def test_webagent_r1_reads_calls_in_curly_quotes_with_parentheses():
    assert protocol("webagent_r1_bare").parse("exit(message=“Dell (27)”)").calls == [call("done", answer="Dell (27)")]
