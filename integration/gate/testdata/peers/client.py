"""A client of the MCP SDK for Python: python client.py URL TOKEN VERSION TOOL ARGUMENTS.

It prints the link that it is asked to open, waits for a line, and prints the text of the result.
"""

import asyncio
import json
import sys

import httpx2
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp_types import ElicitResult


async def opened(_context, params):
    print("open " + params.url, flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    return ElicitResult(action="accept")


async def main():
    url, token, version, tool, text = sys.argv[1:]
    async with httpx2.AsyncClient(headers={"Authorization": "Bearer " + token}, timeout=120) as http:
        transport = streamable_http_client(url, http_client=http)
        async with Client(transport, mode=version, elicitation_callback=opened) as client:
            try:
                result = await client.call_tool(tool, json.loads(text))
            except MCPError as error:
                print("error " + json.dumps(str(error)), flush=True)
                return
            print(("refused " if result.is_error else "result ") + json.dumps(result.content[0].text), flush=True)


asyncio.run(main())
