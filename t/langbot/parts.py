"""Imports everything the other scripts use, and says which versions they are."""

from importlib.metadata import version

import langbot_parts
import mcp  # noqa: F401
from langbot_plugin.box.client import ActionRPCBoxClient  # noqa: F401
from langbot_plugin.runtime.io.controllers.stdio.client import StdioClientController  # noqa: F401
from langbot_plugin.runtime.io.controllers.ws.client import WebSocketClientController  # noqa: F401

there = [name for name in ("service", "mcp_stdio", "runner", "native", "mcp", "repository") if getattr(langbot_parts, name)]
print(version("langbot-plugin"), version("langbot"), "websockets", version("websockets"), "mcp", version("mcp"), "parts:", *there)
