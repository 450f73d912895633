"""Skills by LangBot's own client."""

import io
import random
import zipfile

from harness import *
from langbot_plugin.box.errors import BoxValidationError


def archive(files, **special):
    b = io.BytesIO()
    with zipfile.ZipFile(b, "w", zipfile.ZIP_DEFLATED) as z:
        for name, text in files.items():
            z.writestr(name, text)
        for name, info in special.items():
            z.writestr(info, name)
    return b.getvalue()


MD = "---\nname: {0}\ndescription: a skill\n---\n\n# {0}\n"


@scenario
async def life(c):
    """Create, read, change, delete"""
    ctx, k = context(), c.client
    same(await k.list_skills(ctx), [], "none at first")
    s = await k.create_skill({"name": "demo", "display_name": "D\u00e9mo 1", "description": "d: x", "instructions": "# Hi\nbody\n"}, ctx)
    same(list(s), "name display_name description instructions package_root entry_file python_project created_at updated_at".split(), "every key in order")
    same((s["name"], s["display_name"], s["description"], s["instructions"], s["entry_file"], s["python_project"]), ("demo", "D\u00e9mo 1", "d: x", "# Hi\nbody\n", "SKILL.md", False), "as given")
    ok("/tenants/ws-" in s["package_root"] and s["package_root"].endswith("/demo"), "in the workspace's own directory")
    same(await k.get_skill("demo", ctx), s, "got again")
    same(await k.get_skill("other", ctx), None, "an unknown one is null")
    await raises(k.create_skill({"name": "demo"}, ctx), BoxValidationError, 'Skill with name "demo" already exists', "twice")
    await raises(k.create_skill({"name": "a b"}, ctx), BoxValidationError, "Skill name can only contain letters, numbers, hyphens and underscores", "a bad name")
    u = await k.update_skill("demo", {"description": "new", "instructions": None}, ctx)
    same((u["display_name"], u["description"], u["instructions"]), ("D\u00e9mo 1", "new", ""), "updated in part")
    await raises(k.update_skill("demo", {"name": "x"}, ctx), BoxValidationError, "Renaming skills is not supported", "renaming")
    w = await k.write_skill_file("demo", "scripts/run.py", "print(1)\n", ctx)
    same((w["path"], w["bytes_written"]), ("scripts/run.py", 9), "written")
    same((await k.read_skill_file("demo", "scripts/run.py", ctx))["content"], "print(1)\n", "read")
    l = await k.list_skill_files("demo", action_context=ctx)
    same([(e["path"], e["is_dir"]) for e in l["entries"]], [("SKILL.md", False), ("scripts", True)], "listed")
    same((l["base_path"], l["truncated"], l["skill"]), (".", False, {"name": "demo"}), "and the rest of it")
    await raises(k.read_skill_file("demo", "../x", ctx), BoxValidationError, "path must stay within the skill package root", "escape")
    await raises(k.read_skill_file("demo", "/etc/passwd", ctx), BoxValidationError, "path must be relative to the skill package root", "absolute")
    await raises(k.read_skill_file("demo", "none", ctx), BoxValidationError, "Skill file not found: none", "missing")
    same((await k.scan_skill_directory(s["package_root"], ctx))["name"], "demo", "scanned")
    await k.delete_skill("demo", ctx)
    same(await k.list_skills(ctx), [], "deleted")
    await raises(k.delete_skill("demo", ctx), BoxValidationError, 'Skill "demo" not found', "twice")


@scenario
async def scopes(c):
    """Workspaces do not see each other's skills; generations do"""
    a, b, k = context(), context(), c.client
    s = await k.create_skill({"name": "mine", "instructions": "x"}, a)
    same(await k.list_skills(b), [], "not listed")
    same(await k.get_skill("mine", b), None, "not got")
    await raises(k.scan_skill_directory(s["package_root"], b), BoxValidationError, "scan path must stay within the Workspace skill root", "not scanned")
    same(len(await k.list_skills(context(a.workspace_uuid, 2))), 1, "the next generation has them")


@scenario
async def zips(c):
    """Preview and install"""
    ctx, k = context(), c.client
    one = archive({"repo/SKILL.md": MD.format("one"), "repo/run.sh": "echo\n", "repo/requirements.txt": "x\n"})
    p = await k.preview_skill_zip(one, "My Repo.v1.zip", action_context=ctx)
    same([(x["name"], x["source_path"], x["python_project"]) for x in p], [("one", "", True)], "previewed")
    ok(p[0]["package_root"].endswith("/My-Repo-v1-upload"), "where it would go")
    same(await k.list_skills(ctx), [], "nothing is installed by that")
    i = await k.install_skill_zip(one, "My Repo.v1.zip", action_context=ctx)
    same([x["name"] for x in i], ["one"], "installed")
    same((await k.read_skill_file("one", "run.sh", ctx))["content"], "echo\n", "with its files")
    await raises(k.install_skill_zip(one, "My Repo.v1.zip", action_context=ctx), BoxValidationError, "Skill directory already exists", "twice")
    multi = archive({"a/SKILL.md": MD.format("a"), "b/SKILL.md": MD.format("b")})
    same([x["source_path"] for x in await k.preview_skill_zip(multi, "multi.zip", action_context=ctx)], ["a", "b"], "two in one")
    await raises(k.install_skill_zip(multi, "multi.zip", action_context=ctx), BoxValidationError, "Multiple skills found. Please choose one or more source_paths: a, b", "which?")
    same([x["name"] for x in await k.install_skill_zip(multi, "multi.zip", source_paths=["b"], action_context=ctx)], ["b"], "that")
    big = archive({"SKILL.md": MD.format("big"), "data.bin": random.Random(1).randbytes(1 << 20)})
    same((await k.install_skill_zip(big, "big.zip", action_context=ctx))[0]["name"], "big", "a larger one, in many chunks")
    for name, data, text in (
        ("empty", b"", "Uploaded file is empty"),
        ("no zip", b"PK but no", "Uploaded file must be a valid .zip archive"),
        ("truncated", one[: len(one) // 2], "Uploaded file must be a valid .zip archive"),
        ("slip", archive({"../evil": "x", "SKILL.md": MD.format("x")}), "Archive contains an unsafe path: ../evil"),
        ("absolute", archive({"/evil": "x"}), "Archive contains an unsafe path: /evil"),
        ("bomb", archive({"SKILL.md": MD.format("x"), "zeros": b"\0" * 10_000_000}), "Archive entry exceeds the compression ratio limit: zeros"),
        ("too many", archive({f"f{i}": "x" for i in range(513)}), "Archive contains too many entries (maximum 512)"),
        ("no skill", archive({"readme": "x"}), "No SKILL.md found in"),
    ):
        await raises(k.install_skill_zip(data, f"{name}.zip", action_context=ctx), BoxValidationError, text, name)
    link = zipfile.ZipInfo("link")
    link.external_attr = 0o120777 << 16
    await raises(k.preview_skill_zip(archive({"SKILL.md": MD.format("x")}, **{"/etc/passwd": link}), "link.zip", action_context=ctx), BoxValidationError, "Archive contains a symbolic link: link", "symlink")
    same(sorted(x["name"] for x in await k.list_skills(ctx)), ["b", "big", "one"], "nothing of those is left")


@scenario
async def mounted(c):
    """A skill can be mounted where LangBot mounts it"""
    ctx, k = context(), c.client
    s = await k.create_skill({"name": "tool", "instructions": "use it"}, ctx)
    m = {"host_path": s["package_root"], "mount_path": "/workspace/.skills/tool", "mode": "rw"}
    r = await k.execute(spec(cmd="cat /workspace/.skills/tool/SKILL.md; echo x > /workspace/.skills/tool/made", extra_mounts=[m]), ctx)
    contains(r.stdout, "use it", "read inside")
    same((await k.read_skill_file("tool", "made", ctx))["content"], "x\n", "what is written inside is read outside")


run()
