"""Skills of LangBot 4.11.1 and later: read-only mounts that differ from call to call, in sandboxes that stay.

BOX_SERIAL=1 is for upstream's server, in which the commands of a session wait for each other.
"""

import asyncio
import os
import re

import langbot_parts
import websockets
from application import Running, context, run_of
from harness import EVENTUALLY_SEC, contains, ok, relay_headers, run, same, scenario

SERIAL = bool(os.environ.get("BOX_SERIAL"))
ROUNDS = int(os.environ.get("BOX_ROUNDS", "200"))
BATCH = 20  # rounds beside one long command, which has LangBot's 120 seconds at most


async def skill(ap, name, text):
    """A skill of LangBot's own store, with a script."""
    made = await ap.skill_repository.create_skill(context(), {"name": name, "description": "d", "instructions": f"use {name}"})
    made = await ap.skill_repository.write_skill_file(context(), name, "scripts/say.sh", f"echo {text}\n", base_revision=made["revision"])
    await ap.skill_mgr.reload_skills(context())
    return made


async def activate(ap, q, name):
    return await langbot_parts.authoring.SkillToolLoader(ap).invoke_tool("activate", {"skill_name": name}, q)


def tools(ap, q):
    loader = langbot_parts.native.NativeToolLoader(ap)

    async def tool(name, **parameters):
        return await loader.invoke_tool(name, parameters, q)

    return tool


@scenario
async def activated(ap):
    """An activated skill is there, read-only, by its digest"""
    await skill(ap, "greet", "hello")
    q, other = await run_of(ap, "chat"), await run_of(ap, "chat")
    tool, others = tools(ap, q), tools(ap, other)
    same((await tool("exec", command="echo kept > /workspace/w; f=$(mktemp /tmp/k-XXXXXX); echo kept > $f; echo $f"))["ok"], True, "the run has a sandbox")
    told = await activate(ap, q, "greet")
    ok(re.fullmatch("/opt/langbot-artifacts/[0-9a-f]{64}", told["mount_path"]), "activated: the mount is named by its digest")
    r = await tool("exec", command="sh /workspace/.skills/greet/scripts/say.sh; cat /workspace/.skills/greet/SKILL.md /workspace/w")
    ok(r["ok"] and r["stdout"].startswith("hello\n") and "use greet" in r["stdout"] and r["stdout"].endswith("kept"), "its files are there")
    r = await tool("exec", command=f"ls -A {told['mount_path']}; touch {told['mount_path']}/new")
    same((r["ok"], r["stdout"]), (False, "SKILL.md\nscripts"), "nothing can be made in it")
    contains(r["stderr"], "Read-only file system", "for it is read-only")
    same((await tool("exec", command="cat /tmp/k-*; rm /tmp/k-*"))["stdout"], "kept", "the sandbox is the same as before")
    r = await others("exec", command="ls /workspace/w; echo other run")
    same((r["ok"], r["stdout"]), (True, "/workspace/w\nother run"), "another run of the chat, without the skill, goes on")
    # a new revision, while the first run has pinned the old one
    was = await ap.skill_repository.get_skill(context(), "greet")
    await ap.skill_repository.write_skill_file(context(), "greet", "scripts/say.sh", "echo goodbye\n", base_revision=was["revision"])
    await ap.skill_mgr.reload_skills(context())
    newer = await activate(ap, other, "greet")
    ok(newer["mount_path"] != told["mount_path"], "a changed skill has another digest")
    said = await asyncio.gather(*[t("exec", command="sh /workspace/.skills/greet/scripts/say.sh") for t in (tool, others)])
    same([r["stdout"] for r in said], ["hello", "goodbye"], "each run has the revision that it activated")


@scenario
async def source_changes(ap):
    """What was verified stays, whatever becomes of the source"""
    await skill(ap, "hold", "hello")
    q = await run_of(ap, "chat")
    tool = tools(ap, q)
    told = await activate(ap, q, "hold")
    same((await tool("exec", command="sh /workspace/.skills/hold/scripts/say.sh"))["stdout"], "hello", "a skill")
    package = langbot_parts.part("provider.tools.loaders.skill").get_activated_skill(q, "hold")["package_root"]
    script = f"{package}/scripts/say.sh"
    os.chmod(script, 0o644)
    with open(script, "w") as f:
        f.write("echo changed\n")
    same((await tool("exec", command="sh /workspace/.skills/hold/scripts/say.sh"))["stdout"], "hello", "its source is changed: inside it is as it was")
    again = tools(ap, await run_of(ap, "another chat"))
    r = await tool("exec", command=f"cat {told['mount_path']}/scripts/say.sh")
    same(r["stdout"], "echo hello", "each time")
    same((await again("exec", command="ls /opt/langbot-artifacts 2>/dev/null"))["stdout"], "", "another session sees nothing of it")


class Relay:
    """A managed process of the session, and its relay; every line it is sent must come back."""

    PROGRAM = "echo $$ > /tmp/managed-$RUN; exec cat"

    def __init__(self, ap, session_id, mark):
        self.box, self.id, self.mark, self.sent = ap.box_service, session_id, mark, 0

    async def start(self):
        await self.box.start_managed_process(context(), self.id, {"command": "sh", "args": ["-c", self.PROGRAM], "env": {"RUN": self.mark}, "cwd": "/workspace"})
        url = self.box._get_managed_process_websocket_url(context(), self.id)
        self.ws = await websockets.connect(url, additional_headers=relay_headers(context()), subprotocols=["mcp"], proxy=None)

    async def pass_through(self):
        """Three lines of different length, all with their number: what is lost or doubled shows."""
        lines = [f"{self.sent + i} " + "x" * n for i, n in enumerate((1, 1000, 20000))]
        self.sent += 3
        for line in lines:
            await self.ws.send(line)
        expected, got = "".join(lines), ""
        while len(got) < len(expected):  # a message is a line here, a part of one upstream
            got += (await asyncio.wait_for(self.ws.recv(), EVENTUALLY_SEC)).replace("\n", "")
        return got == expected


@scenario
async def rounds(ap):
    """Two runs of one chat, with mount sets that change from call to call, for 200 rounds"""
    for name in ("one", "two"):
        await skill(ap, name, f"this is {name}")
    a, b = await run_of(ap, "chat"), await run_of(ap, "chat")
    box = langbot_parts.runner.binding_for(a).session_id
    same(langbot_parts.runner.binding_for(b).session_id, box, "two runs share a session")
    one, two, mark = tools(ap, a), tools(ap, b), os.urandom(8).hex()
    relay = Relay(ap, box, mark)
    await relay.start()
    ok(await relay.pass_through(), "a managed process and its relay")
    await one("exec", command=f"echo kept > /tmp/mark-{mark}; echo line > /workspace/data; sleep 1000 >/dev/null 2>&1 </dev/null & echo $! > /tmp/background-{mark}")
    # Each process by its number and when it began; the first is the sandbox's own.
    who = f"cat /tmp/mark-{mark}; for p in 1 $(cat /tmp/managed-{mark} /tmp/background-{mark}); do echo $p $(cut -d' ' -f22 /proc/$p/stat); done"
    before = (await one("exec", command=who))["stdout"]
    same(before.count("\n"), 3, "processes that must stay")
    await activate(ap, a, "one")
    failures, lost, changed = [], 0, 0

    async def expect(call, field, value):
        try:
            r = await call
        except Exception as exc:
            r = {"error": f"{type(exc).__name__}: {exc}"}
        if r.get(field) != value:
            failures.append((r.get("error"), r.get("stderr"), r.get(field), value))
        return r

    for n in range(ROUNDS):
        if n == ROUNDS // 2:
            await activate(ap, b, "two")
        if n % BATCH == 0 and not SERIAL:
            long = asyncio.create_task(two("exec", command=f"until [ -e /tmp/over-{n}-{mark} ]; do sleep 0.1; done; echo lived", timeout_sec=120))
        say = "sh /workspace/.skills/{0}/scripts/say.sh"
        calls = [
            expect(one("exec", command=say.format("one")), "stdout", "this is one"),  # its skill is mounted
            expect(two("read", path="/workspace/data"), "content", "line"),  # nothing is
            expect(two("exec", command=say.format("two") if n >= ROUNDS // 2 else "echo no skill"), "stdout", "this is two" if n >= ROUNDS // 2 else "no skill"),
        ]
        if n % 2:
            calls.append(expect(one("write", path=f"/workspace/n{n % 7}", content=str(n)), "ok", True))
        calls.append(expect((two if n % 3 else one)("exec", command=who), "stdout", before))
        results, passed = await asyncio.gather(asyncio.gather(*calls), relay.pass_through())
        lost += not passed
        changed += results[-1].get("stdout", before) != before  # one that failed has said so
        if n % BATCH == BATCH - 1 and not SERIAL:
            await one("exec", command=f"touch /tmp/over-{n - BATCH + 1}-{mark}")
            await expect(long, "stdout", "lived")
    same((len(failures), failures[:3]), (0, []), f"{ROUNDS} rounds: every call had its mounts and its answer")
    same(lost, 0, f"{3 * ROUNDS} lines through the relay: no byte is lost")
    same(changed, 0, "no process has changed, and /tmp is as it was")
    same((await ap.box_service.get_managed_process(context(), box)).status.value, "running", "the managed process runs")
    await relay.ws.close()
    await one("exec", command=f"kill $(cat /tmp/background-{mark}); rm -f /tmp/*-{mark}")


run(Running)
