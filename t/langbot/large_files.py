"""Files through a command of LangBot 4.11.1 and later: large imports where LangBot does not see the workspace, large exports always."""

import base64
import hashlib
import os

import langbot_parts
from application import Running, run_of
from harness import run, same, scenario
from langbot_plugin.api.entities.builtin.platform import message as pm


@scenario
async def imports(ap):
    """An attachment of 250 kB in a command"""
    ap.box_service._host_query_dir = lambda *args: None  # as where LangBot runs on another machine
    data = os.urandom(250000)
    q = await run_of(ap, "group_1", message_chain=pm.MessageChain([pm.File(name="a.bin", base64=base64.b64encode(data).decode())]))
    r = await langbot_parts.runner.RunnerBoxService(ap.box_service).import_attachments(q, None)
    got = await ap.box_service.execute_tool({"command": f"sha256sum < {r['items'][0]['path']} | cut -d' ' -f1"}, q)
    same(got["stdout"], hashlib.sha256(data).hexdigest(), "is inside as it was")


@scenario
async def exports(ap):
    """A file of 10 MiB in the output of a command"""
    q = await run_of(ap, "group_1")
    made = await ap.box_service.execute_tool({"command": "head -c 10485760 /dev/urandom > /workspace/big.bin; sha256sum < /workspace/big.bin | cut -d' ' -f1"}, q)
    r = await langbot_parts.runner.RunnerBoxService(ap.box_service).export_files(q, ["/workspace/big.bin"])
    same([(i["name"], i["size"]) for i in r["items"]], [("big.bin", 10485760)], "is exported")
    sent = langbot_parts.runner.exported_message(q, [r["items"][0]["id"]])
    same(hashlib.sha256(base64.b64decode(sent[0].base64)).hexdigest(), made["stdout"], "as it was")


run(Running)
