"""Clients of the Python SDK before the proxy: client.py URL http|sse MODE,... WHAT... prints "fine", or the trace of what
failed. MODE is auto (the newest revision that both know) or legacy."""
import asyncio
import contextlib
import logging
import sys

from mcp import Client
from mcp.client.auth.extensions.client_credentials import ClientCredentialsOAuthProvider
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp_types import ElicitResult

logging.disable(logging.CRITICAL)
URL, TRANSPORT, MODES, *WHAT = sys.argv[1:]
ASKED = []


async def answer(context, params):
    ASKED.append(params.message)
    return ElicitResult(action="accept", content={"name": "Ann"})


def text(result):
    assert not result.is_error, result
    return result.content[0].text


async def the_sdks_server(client):
    names = [t.name for t in (await client.list_tools()).tools]
    assert names == ["add", "echo", "steps", "hello"], names
    assert text(await client.call_tool("add", {"a": 2, "b": 3})) == "5"
    odd = "é\u2028\u00ad \U0001f469\u200d\U0001f4bb " * 1000
    assert text(await client.call_tool("echo", {"text": odd})) == odd
    seen = []

    async def progress(done, total, message):
        seen.append(done)
    assert text(await client.call_tool("steps", {"count": 5}, progress_callback=progress)) == "done"
    assert seen == [1, 2, 3, 4, 5], seen
    assert (await client.read_resource("test://greeting")).contents[0].text == "good day"
    prompt = await client.get_prompt("review", {"code": "x"})
    assert prompt.messages[0].content.text == "Please look at x"
    assert (await client.call_tool("none", {})).is_error


async def input_in_a_call(client):
    assert text(await client.call_tool("hello", {})) == "accept Ann"
    assert ASKED == ["Who is there?"], ASKED
    ASKED.clear()


async def many_calls_at_once(client):
    got = await asyncio.gather(*(client.call_tool("add", {"a": i, "b": 1}) for i in range(50)))
    assert [text(r) for r in got] == [str(i + 1) for i in range(50)]


async def only_the_filter_passes(client):
    assert [t.name for t in (await client.list_tools()).tools] == ["plus", "echo"]
    assert text(await client.call_tool("plus", {"a": 2, "b": 2})) == "4"


async def only_what_the_policy_permits(client):
    assert [t.name for t in (await client.list_tools()).tools] == ["add", "echo"]
    assert text(await client.call_tool("add", {"a": 2, "b": 2})) == "4"
    try:
        await client.call_tool("steps", {"count": 1})
        raise SystemExit("the policy was not asked")
    except Exception as e:
        assert "403" in str(e) or "nauthorized" in str(e) or "enied" in str(e) or "orbidden" in str(e), repr(e)


async def the_rate_is_limited(client):
    """Four calls an hour; two were made."""
    for _ in range(2):
        assert text(await client.call_tool("add", {"a": 1, "b": 1})) == "2"
    try:
        await client.call_tool("add", {"a": 1, "b": 1})
        raise SystemExit("the rate is not limited")
    except Exception as e:
        assert "429" in str(e) or "ate limit" in str(e), repr(e)


async def everything(client):
    names = {t.name for t in (await client.list_tools()).tools}
    assert {"echo", "get-sum"} <= names, names
    assert text(await client.call_tool("echo", {"message": "ahoy"})) == "Echo: ahoy"
    seen = []

    async def progress(done, total, message):
        seen.append(done)
    done = await client.call_tool("trigger-long-running-operation", {"duration": 0.4, "steps": 4}, progress_callback=progress)
    assert "completed" in text(done) and seen == [1, 2, 3, 4], (done, seen)
    resources = (await client.list_resources()).resources
    assert resources and (await client.read_resource(resources[0].uri)).contents
    prompts = (await client.list_prompts()).prompts
    assert prompts, prompts


async def files(client):
    listed = text(await client.call_tool("list_allowed_directories", {}))
    folder = listed.splitlines()[-1]
    path = folder + "/note.txt"
    await client.call_tool("write_file", {"path": path, "content": "gr\u00fc\u00dfe \u2028"})
    assert text(await client.call_tool("read_text_file", {"path": path})) == "gr\u00fc\u00dfe \u2028"
    assert "note.txt" in text(await client.call_tool("list_directory", {"path": folder}))
    assert (await client.call_tool("read_text_file", {"path": "/etc/passwd"})).is_error


class Storage:
    def __init__(self):
        self.tokens = self.info = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.info

    async def set_client_info(self, info):
        self.info = info


@contextlib.asynccontextmanager
async def transport():
    """With credentials: 401, the resource's metadata, the issuer's, a token, and again."""
    user = next((w[5:] for w in WHAT if w.startswith("user=")), None)
    issuer = next((w[7:] for w in WHAT if w.startswith("issuer=")), None)
    if TRANSPORT == "sse":
        yield sse_client(URL)
    elif user:
        auth = ClientCredentialsOAuthProvider(URL, Storage(), user, "secret", issuer=issuer)
        async with create_mcp_http_client(auth=auth) as http:
            yield streamable_http_client(URL, http_client=http)
    else:
        yield URL


async def main():
    for mode in MODES.split(","):
        async with transport() as way, Client(way, mode=mode, elicitation_callback=answer) as client:
            for word in WHAT:
                if "=" not in word:
                    await globals()[word](client)
    print("fine")


asyncio.run(asyncio.wait_for(main(), 60))
