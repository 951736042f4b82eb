"""Every protocol: the exact conversation over four turns, what its parser accepts, and that it never raises."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components import plugins
from components.agent import Renderer
from components.agent.protocols import protocol
from components.agent.protocols.browseragent import COMMANDS
from components.agent.rendering import Response, Text
from components.browser import ALL_TOOLS, check_call
from components.params import AgentParams, ObservationParams
from components.records import Image, ToolCall, Turn
from tests.vlm import TASK, observation

PROTOCOLS = plugins.builtin("protocols")

PAGE = '[4] textbox "Search"\n[5] button "Go"'
SPOKEN = {
    "openwebrl": [
        '<think>a</think>\n<tool_call>{"name": "click", "arguments": {"x": 1, "y": 2}}</tool_call>',
        "no call",
        '<think>c</think>\n<tool_call>{"name": "wait", "arguments": {}}</tool_call>',
    ],
    "webgym": [
        'Memory: blue costs 5\nProgress: half\nIntention: click\nAction: <tool_call>{"name": "go_back"}</tool_call>',
        "no sections",
        'Memory: blue 5,\nred 7\nProgress: all\nIntention: end\nAction: <tool_call>{"name": "wait"}</tool_call>',
    ],
    "webagent_r1": [
        '<think>a</think>\n<answer># Element: field\ndo(action="Search", argument="x, y", element="4")</answer>',
        "nothing",
        '<think>c</think><answer>do(action="Click", element="5")</answer>',
    ],
    "webagent_r1_bare": [
        '# Element: field\ndo(action="Search", argument="x, y", element="4")',
        "nothing",
        'do(action="Click", element="5")',
    ],
    "browseragent": [
        "<think>a</think><conclusion>Jordan is\nthe one</conclusion><action>type(4, father of, who, 1)</action>",
        "nothing",
        "<think>c</think><conclusion></conclusion><action>click(5, Go)</action>",
    ],
}
FEEDBACK = ["Succeed: one", "Failed: two", "Succeed: three"]
GOLDEN = {
    "openwebrl": (
        "<|im_start|>system\nUse the browser to do the task.<|im_end|>\n"
        '<|im_start|>user\nTask: Click on the "ok" button.\nURL: http://a/\n<|im_end|>\n<|im_start|>assistant\n<0>\n'
        "<|im_start|>user\nSucceed: one\nURL: http://a/\n<|im_end|>\n<|im_start|>assistant\n<1>\n"
        "<|im_start|>user\nFailed: two\nURL: http://a/\n<|im_end|>\n<|im_start|>assistant\n<2>\n"
        f"<|im_start|>user\nSucceed: three\nURL: http://a/\n<image>\n{PAGE}<|im_end|>\n<|im_start|>assistant\n"
    ),
    "webgym": (
        "<|im_start|>system\nUse the browser to do the task. Answer with Memory, Progress, Intention and Action."
        '<|im_end|>\n<|im_start|>user\nTask: Click on the "ok" button.\nMemory: blue 5,\nred 7\n'
        f"Outcome of your last calls:\nSucceed: three\nURL: http://a/\n<image>\n{PAGE}<|im_end|>\n"
        "<|im_start|>assistant\n"
    ),
    "webagent_r1": (
        "<|im_start|>system\nUse the browser to do the task. One function call per round.<|im_end|>\n"
        '<|im_start|>user\nTask: Click on the "ok" button.\n\nRound 0\n\n** Simplified html **<|im_end|>\n'
        "<|im_start|>assistant\n<0>\n"
        "<|im_start|>user\nRound 1\n\n** Simplified html **<|im_end|>\n<|im_start|>assistant\n<1>\n"
        "<|im_start|>user\nRound 2\nFailed: two\n\n** Simplified html **<|im_end|>\n<|im_start|>assistant\n<2>\n"
        f"<|im_start|>user\nRound 3\n\n{PAGE}<|im_end|>\n<|im_start|>assistant\n"
    ),
    "browseragent": (
        "<|im_start|>system\nUse the browser to do the task. One command per turn.<|im_end|>\n"
        '<|im_start|>user\nObjective: Click on the "ok" button.\n<memory>\n'
        "1. type(4, father of, who, 1); conclusion: Jordan is the one\n"
        "2. no command; Failed: two\n"
        "3. click(5, Go)\n"
        f"</memory>\nURL: http://a/\nTabs:\n*[0] A\nObservation:\n{PAGE}<|im_end|>\n<|im_start|>assistant\n"
    ),
}
GOLDEN["webagent_r1_bare"] = GOLDEN["webagent_r1"]


def turns(name: str) -> list[Turn]:
    return [
        Turn(
            index=index,
            observation=observation(index, PAGE),
            prompt_sha256="",
            prompt_tokens=0,
            response=response,
            token_ids=[index],
            logprobs=[0.0],
            finish_reason="stop",
            tool_calls=protocol(name).parse(response).calls,
            feedback=[FEEDBACK[index]],
            parse_error=protocol(name).parse(response).error,
        )
        for index, response in enumerate(SPOKEN[name])
    ]


def rendered(name: str, kind: str = "compact", think_prefix: bool = False) -> str:
    agent = AgentParams(protocol=name, prompt=kind, max_response_tokens=12, max_context_tokens=2048)
    renderer = Renderer(agent, ObservationParams(text="axtree"), think_prefix)
    shown = {Text: lambda s: s.text, Image: lambda s: "<image>", Response: lambda s: f"<{s.token_ids[0]}>"}
    segments = renderer.prompt(TASK, turns(name), observation(3, PAGE)).segments
    return "".join(shown[type(segment)](segment) for segment in segments)


@pytest.mark.parametrize("name", PROTOCOLS)
def test_the_fourth_turn_is_rendered_as_in_the_golden_file(name):
    assert rendered(name) == GOLDEN[name]


@pytest.mark.parametrize("name", PROTOCOLS)
def test_only_the_second_response_of_the_samples_is_unreadable(name):
    assert [turn.parse_error is None for turn in turns(name)] == [True, False, True]


@pytest.mark.parametrize("name", PROTOCOLS)
def test_the_full_prompt_names_every_action(name):
    system = protocol(name).system(AgentParams(prompt="full", max_response_tokens=1, max_context_tokens=2))
    actions = {
        "openwebrl": ["click(", "press_keys(", "close_tab(", "done("],
        "browseragent": list(COMMANDS),
    }.get(
        name, ["done("] if name == "webgym" else ['"Select Dropdown Option"', "exit(", "go_backward()", "go_forward()"]
    )
    assert all(action in system for action in actions)
    assert "{form}" not in system


@pytest.mark.parametrize("name", ["openwebrl", "webgym"])
def test_only_the_extended_prompt_describes_arguments_beyond_the_papers(name):
    def system(prompt):
        return protocol(name).system(AgentParams(prompt=prompt, max_response_tokens=1, max_context_tokens=2))

    assert "write(text: string):" in system("full")
    assert "write(text: string, clear: boolean = True):" in system("extended")
    assert "modifiers" in system("extended")
    assert "modifiers" not in system("full") + system("compact")


@pytest.mark.parametrize("name", ["openwebrl", "webgym"])
def test_only_the_extended_prompt_says_how_a_select_is_answered(name):
    def line(prompt):
        system = protocol(name).system(AgentParams(prompt=prompt, max_response_tokens=1, max_context_tokens=2))
        return next(line for line in system.splitlines() if line.startswith("- write("))

    assert line("full") == "- write(text: string): Clear the focused input and type a string."
    assert line("extended").endswith("then write the label of the option to choose it.")


EXTENDED = {
    "webagent_r1_bare": {
        "double": 'do(action="Double Click", element="7")',
        "modified": 'do(action="Modified Click", argument="ctrl+shift", element="7")',
        "drag": 'do(action="Drag", argument="9", element="7")',
        "press": 'do(action="Press Keys", argument="ctrl+a", element="7")',
        "add": 'do(action="Add Text", argument="more, and more", element="7")',
    },
    "browseragent": {
        "double": "double_click(7)",
        "modified": "modified_click(7, ctrl+shift)",
        "drag": "drag(7, 9)",
        "press": "press_in(7, ctrl+a)",
        "add": "add_text(7, more, and more)",
    },
}


@pytest.mark.parametrize("name", EXTENDED)
def test_protocols_on_ids_read_what_their_extended_prompt_describes(name):
    thinks = name == "browseragent"
    texts = {
        key: f"<think>a</think><action>{code}</action>" if thinks else code for key, code in EXTENDED[name].items()
    }
    assert {key: protocol(name).parse(text).calls for key, text in texts.items()} == {
        "double": [call("click_element", element="7", click_type="double")],
        "modified": [call("click_element", element="7", modifiers="ctrl+shift")],
        "drag": [call("drag_element", element="7", to="9")],
        "press": [call("press_element", element="7", keys=["ctrl+a"])],
        "add": [call("write_element", element="7", text="more, and more", clear=False)],
    }


@pytest.mark.parametrize("name", ["webagent_r1", "webagent_r1_bare", "browseragent"])
def test_only_the_extended_prompt_describes_actions_beyond_the_papers(name):
    words = ["double_click(", "modified_click(", "drag(", "press_in(", "add_text("]
    if name != "browseragent":
        words = ['"Double Click"', '"Modified Click"', '"Drag"', '"Press Keys"', '"Add Text"']
    full, extended = (
        protocol(name).system(AgentParams(prompt=prompt, max_response_tokens=1, max_context_tokens=2))
        for prompt in ("full", "extended")
    )
    assert extended.startswith(full)
    assert [word in extended for word in words] == [True] * 5
    assert [word in full for word in words] == [False] * 5


def test_only_a_protocol_that_thinks_is_opened_by_a_thinking_model():
    opened = {name: rendered(name, think_prefix=True).endswith("assistant\n<think>\n") for name in PROTOCOLS}
    assert opened == {name: name not in ("webgym", "webagent_r1_bare") for name in PROTOCOLS}


# ---- parsers --------------------------------------------------------------------------------------------------------


def call(name: str, **arguments: object) -> ToolCall:
    return ToolCall(name=name, arguments=arguments)


@pytest.mark.parametrize(
    ("command", "wanted"),
    [
        ("click(12, Search)", call("click_element", element="12")),
        ("click [12] [Search]", call("click_element", element="12")),
        ("hover(12)", call("hover_element", element="12")),
        ("press(Ctrl+v)", call("press_keys", keys=["Ctrl+v"])),
        ("scroll(down)", call("scroll", direction="down", amount=0.9)),
        ("scroll [direction=up]", call("scroll", direction="up", amount=0.9)),
        ("type(4, one, two, press_enter_after=1)", call("write_element", element="4", text="one, two", submit=True)),
        ("type(4, 12 Main St, Apt 1)", call("write_element", element="4", text="12 Main St, Apt 1", submit=False)),
        ("type(4, in 1984, 0)", call("write_element", element="4", text="in 1984", submit=False)),
        ("type(4, 1)", call("write_element", element="4", text="1", submit=False)),
        ('type [4] [who [is] it] [press_enter_after=1]',
         call("write_element", element="4", text="who [is] it", submit=True)),
        ("type [4] [who]", call("write_element", element="4", text="who", submit=True)),
        ("type [4] [who] [0]", call("write_element", element="4", text="who", submit=False)),
        ('type(5, "Paris", "1")', call("write_element", element="5", text="Paris", submit=True)),
        ('type(5, "Paris", press_enter_after="0")', call("write_element", element="5", text="Paris", submit=False)),
        ('type(5, "Room 5, 1", 0)', call("write_element", element="5", text="Room 5, 1", submit=False)),
        ('type [5] [Paris] ["1"]', call("write_element", element="5", text="Paris", submit=True)),
        ("type(12, a, press_enter_after=True)", call("write_element", element="12", text="a", submit=True)),
        ("```txt\nclick(12, Search)\n```", call("click_element", element="12")),
        ("stop(Paris).", call("done", answer="Paris")),
        ("stop(Paris)\nThat is all.", call("done", answer="Paris")),
        ("stop(Paris (France)", call("done", answer="Paris (France")),
        ("stop(Paris (France) is it", call("done", answer="Paris (France) is it")),
        ('stop("A" and "B")', call("done", answer='"A" and "B"')),
        ("stop(12) (x)", call("done", answer="12")),
        ("stop(12) because (x)", call("done", answer="12")),
        ("stop(12 (x) and (y))", call("done", answer="12 (x) and (y)")),
        ("new_tab", call("new_tab")),
        ("tab_focus(1)", call("switch_tab", index="1")),
        ("close_tab()", call("close_tab")),
        ('goto("http://a/b,c")', call("goto_url", url="http://a/b,c")),
        ("go_back", call("go_back")),
        ("go_forward", call("go_forward")),
        ("stop(Paris, France)", call("done", answer="Paris, France")),
        ("```stop [N/A]```", call("done", answer="N/A")),
    ],
)  # fmt: skip
def test_browseragent_commands_are_read_as_calls(command, wanted):
    parsed = protocol("browseragent").parse(f"<think>t</think><conclusion>c</conclusion><action>{command}</action>")
    assert (parsed.calls, parsed.error) == ([wanted], None)


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("fly(1)", "unknown command"),
        ("type(4)", "needs 2 arguments"),
        ("scroll(around)", "direction"),
        ("", "unknown"),
    ],
)
def test_browseragent_names_what_is_wrong(command, reason):
    assert reason in (protocol("browseragent").parse(f"<think>t</think><action>{command}</action>").error or "")


def test_webgym_reads_bold_headings_and_ignores_sections_of_the_thought():
    text = (
        "<think>Memory: draft</think>**Memory:** kept\n**Progress:** none\n**Intention:** look\n"
        '**Action:** <tool_call>{"name": "done", "arguments": {"answer": "7"}}</tool_call>'
    )
    parsed = protocol("webgym").parse(text)
    assert parsed.calls == [call("done", answer="7")]
    assert parsed.thought == "Memory: kept\nProgress: none\nIntention: look"


@pytest.mark.parametrize("line", [" " * 20_000, "\t" * 20_000, "*" * 20_000, "#" * 10_000 + " " * 10_000])
def test_webgym_reads_a_line_of_one_character_in_little_time(line):
    """Meanwhile no other episode goes on."""
    began = time.process_time()
    assert "no section Memory" in (protocol("webgym").parse(line + "x").error or "")
    assert time.process_time() - began < 1


@pytest.mark.parametrize("name", ["openwebrl", "webgym"])  # the others: tests/policies/test_scripted.py
def test_a_teachers_response_is_read_back(name):
    calls = [call("click", x=512, y=86), call("write", text='"Bob" </x>')]
    parsed = protocol(name).parse(protocol(name).write('click field, write "Bob"', calls))
    assert (parsed.calls, parsed.error) == (calls, None)
    assert 'click field, write "Bob"' in parsed.thought


PIECES = st.sampled_from(
    [
        *"""<think> </think> <answer> </answer> <action> </action> do( exit( action="Click" element="7" ( ) , 1) # click
        [ ] Memory: Action: <tool_call> { " “ ' \\ scroll(up) press( stop( goto()
        tab_focus(99999999999999999)""".split(),
        "type(4, ",
        "\n",
    ]
)


def browseragent_calls(value: str) -> list[ToolCall]:
    """A call of each tool that takes free text."""
    typed = [call("write_element", element="12", text=value, submit=submit) for submit in (True, False)]
    return [*typed, call("done", answer=value), call("goto_url", url=value)]


@pytest.mark.parametrize(
    "value", ['"quoted"', "'Dune'", "url=http://x", "[x]", "[1]", "a, 1", " x ", "(x)", "a [b] c", "a[", '"', "plain"]
)
def test_browseragent_writes_free_text_that_is_read_back_as_it_is(value):
    written = protocol("browseragent")
    for made in browseragent_calls(value):
        assert written.parse(written.write("t", [made])).calls == [made]


@settings(max_examples=150)
@given(st.one_of(st.text(max_size=30), st.lists(PIECES | st.text(max_size=3), max_size=6).map("".join)))
def test_browseragent_reads_back_what_it_writes_or_refuses_to_write(value):
    written = protocol("browseragent")
    for made in browseragent_calls(value):
        try:
            response = written.write("t", [made])
        except ValueError:
            continue
        assert written.parse(response).calls == [made]


def test_browseragent_refuses_to_write_what_no_command_can_hold():
    with pytest.raises(ValueError, match=r"cannot write this so that it is read as it is: stop\(</action>\)"):
        protocol("browseragent").write("t", [call("done", answer="</action>")])


@pytest.mark.parametrize("name", PROTOCOLS)
@settings(max_examples=150)
@given(text=st.one_of(st.text(max_size=200), st.lists(PIECES | st.text(max_size=5), max_size=25).map("".join)))
def test_any_response_is_parsed_or_refused(name, text):
    parsed = protocol(name).parse(text)
    assert parsed.error is not None or any(one.error is None for one in parsed.calls)
    for one in parsed.calls:
        assert one.error is not None or check_call(one.name, one.arguments, ALL_TOOLS).error is None


def test_openwebrl_cannot_name_elements():
    text = '<think>x</think><tool_call>{"name": "click_element", "arguments": {"element": "3"}}</tool_call>'
    assert "unknown tool" in (protocol("openwebrl").parse(text).error or "")
