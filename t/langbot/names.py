"""The backend host, and the class of a refusal."""

import asyncio
import json

import websockets
from harness import *

CTX = {"instance_uuid": INSTANCE, "workspace_uuid": "names", "placement_generation": 1}
NO_HOST = "BoxValidationError: host backend requires local stdio control or WebSocket control protected by LANGBOT_BOX_CONTROL_TOKEN"
NO_BACKEND = "BoxBackendUnavailableError: LangBot Box backend unavailable. Install and start Docker or nsjail, configure E2B, or explicitly select the unsafe host backend."


async def ask(ws, action, data, ctx=CTX):
    await ws.send(json.dumps({"seq_id": 1, "action": action, "data": data} | ({"context": ctx} if ctx else {})))
    return json.loads(await asyncio.wait_for(ws.recv(), EVENTUALLY_SEC))


def connect():
    return websockets.connect(RPC_URL, additional_headers=headers(), proxy=None)


def spec_of(cmd="true", **more):
    return {"session_id": "s", "cmd": cmd, "workdir": "/tmp"} | more


@scenario
async def protected(c):
    """With a token host is a name like any other, for a real sandbox"""
    if not TOKEN:
        return
    async with connect() as ws:
        same((await ask(ws, "box_init", {"backend": "docker"}, None))["data"], {"initialized": True}, "docker can be configured")
        same((await ask(ws, "box_exec", spec_of()))["message"], NO_BACKEND, "and is not there")
        same((await ask(ws, "box_init", {"backend": "host"}, None))["data"], {"initialized": True}, "host")
        same((await ask(ws, "box_get_backend_info", {}, None))["data"], {"name": "host", "available": True}, "is available, and not called unsafe")
        same((await ask(ws, "box_status", {}))["data"]["backend"], {"name": "host", "available": True}, "in the status too")
        r = (await ask(ws, "box_exec", spec_of("ls -d /root/.ssh /etc/shadow 2>/dev/null | wc -l; cat /proc/self/uid_map")))["data"]
        same((r["backend_name"], r["exit_code"], r["stdout"].split("\n")[0]), ("host", 0, "0"), "its sessions see nothing of the host's secrets")
        ok(r["stdout"].split()[2] != "0", "and are root in a namespace of their own only")
        same((await ask(ws, "box_init", {"backend": "local"}, None))["data"], {"initialized": True}, "local")
        ok((await ask(ws, "box_get_backend_info", {}, None))["data"]["name"] != "host", "does not select it")


@scenario
async def classes(c):
    """A ValueError of exec and create is a BoxValidationError, others stay what they are"""
    if not TOKEN:
        return
    async with connect() as ws:
        for action in ("box_exec", "box_create_session"):
            same((await ask(ws, action, spec_of(session_id="//")))["message"], "BoxValidationError: Box session_id must contain a valid character", f"{action}: no valid character")
            same((await ask(ws, action, spec_of(image="a\0b")))["message"], "BoxValidationError: embedded null byte", f"{action}: a NUL")
        same((await ask(ws, "box_get_session", {"session_id": "//"}))["message"], "ValueError: Box session_id must contain a valid character", "box_get_session")


@scenario
async def unprotected(c):
    """Without a token the name is refused, and nothing is applied"""
    if TOKEN:
        return
    async with connect() as ws:
        same((await ask(ws, "box_init", {"backend": "host", "limits": {"max_sessions": 7}}, None))["message"], NO_HOST, "host is refused")
        ok((await ask(ws, "box_get_backend_info", {}, None))["data"]["name"] != "host", "nothing is applied")
        ok((await ask(ws, "box_status", {}))["data"]["limits"]["max_sessions"] != 7, "of the rest neither")
        same((await ask(ws, "box_init", {"backend": "local"}, None))["data"], {"initialized": True}, "others are taken")


run()
