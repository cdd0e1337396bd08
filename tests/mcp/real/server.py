"""A server of the Python SDK: server.py stdio | server.py streamable-http|sse PORT."""
import logging
import sys
from typing import Annotated

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.resolve import Elicit, Resolve
from pydantic import BaseModel

logging.disable(logging.CRITICAL)
server = MCPServer("sdk", log_level="CRITICAL")


class Name(BaseModel):
    name: str


@server.tool()
def add(a: int, b: int) -> int:
    """Adds."""
    return a + b


@server.tool()
def echo(text: str) -> str:
    """Says it again."""
    return text


@server.tool()
async def steps(count: int, ctx: Context) -> str:
    """Reports each step."""
    for i in range(count):
        await ctx.report_progress(i + 1, count, "step")
    return "done"


async def ask_name() -> Elicit[Name]:
    return Elicit("Who is there?", Name)


@server.tool()
def hello(who: Annotated[Name, Resolve(ask_name)]) -> str:
    """Asks for a name, by a request to older clients and in its result to newer ones."""
    return f"accept {who.name}"


@server.resource("test://greeting")
def greeting() -> str:
    """A text."""
    return "good day"


@server.prompt()
def review(code: str) -> str:
    """Asks for a review."""
    return f"Please look at {code}"


if sys.argv[1] == "stdio":
    server.run()
else:
    server.run(sys.argv[1], host="127.0.0.1", port=int(sys.argv[2]))
