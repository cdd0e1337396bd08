"""The SDKs of OpenAI and Anthropic against a router; run by test_router_clients.py with the python of tools/sdks.

    router_clients.py http://127.0.0.1:PORT        prints "fine", or the trace of what failed
"""
import sys

import anthropic
import openai

ADDRESS = sys.argv[1]
TALK = [{"role": "user", "content": "Say something."}]


def with_openai():
    client = openai.OpenAI(base_url=f"{ADDRESS}/v1", api_key="the-callers-own", max_retries=0)
    assert {"chat", "gone"} <= {m.id for m in client.models.list()}
    answer = client.chat.completions.create(model="chat", messages=TALK, max_tokens=8)
    assert answer.model == "chat", answer.model
    assert answer.usage.prompt_tokens > 0 and 0 < answer.usage.completion_tokens <= 8, answer.usage
    chunks = list(client.chat.completions.create(model="chat", messages=TALK, max_tokens=8, stream=True,
                                                 stream_options={"include_usage": True}))
    assert len(chunks) > 3 and {c.model for c in chunks} == {"chat"}, chunks
    assert chunks[-1].usage.completion_tokens > 0
    assert client.completions.create(model="chat", prompt="Once", max_tokens=4).usage.completion_tokens > 0
    tools = [{"type": "function", "function": {"name": "f", "description": "does f", "parameters": {
        "type": "object", "properties": {"x": {"type": "string"}}, "required": ["x"]}}}]
    answer = client.chat.completions.create(model="chat", messages=TALK, max_tokens=24, tools=tools, tool_choice="required")
    calls = answer.choices[0].message.tool_calls
    assert calls is None or calls[0].function.name == "f", answer
    try:
        client.chat.completions.create(model="gone", messages=TALK)
        raise AssertionError("a back end that refuses connections answered")
    except openai.InternalServerError as e:
        assert e.status_code == 502, e
    try:
        client.with_options(timeout=30).chat.completions.create(model="spent", messages=TALK, max_tokens=4)
        client.chat.completions.create(model="spent", messages=TALK, max_tokens=4)
        raise AssertionError("the budget has no end")
    except openai.RateLimitError as e:
        assert int(e.response.headers["retry-after"]) > 0


def with_anthropic():
    client = anthropic.Anthropic(base_url=ADDRESS, api_key="the-callers-own", max_retries=0)
    answer = client.messages.create(model="chat", max_tokens=8, messages=TALK)
    assert answer.model == "chat" and answer.usage.output_tokens > 0, answer
    with client.messages.stream(model="chat", max_tokens=8, messages=TALK) as stream:
        text = "".join(stream.text_stream)
        last = stream.get_final_message()
    assert last.model == "chat" and last.usage.output_tokens > 0 and text is not None, last
    assert client.messages.count_tokens(model="chat", messages=TALK).input_tokens > 0


with_openai()
with_anthropic()
print("fine")
