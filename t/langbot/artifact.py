"""Revisions as LangBot 4.11.1 and later publish them: a package, its manifest, and the mount that names both."""

import json
import os

from langbot_plugin.artifact import build_tree_manifest


def publish(root, files, executable=()):
    """Writes files (name: text) as a revision below root; gives the mount object LangBot sends for it."""
    package = os.path.join(root, "package")
    for name, text in files.items():
        path = os.path.join(package, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as f:
            f.write(text)
        os.chmod(path, 0o555 if name in executable else 0o444)
    digest, manifest = build_tree_manifest(package, max_files=2048, max_total_bytes=1 << 28)
    with open(os.path.join(root, "manifest.json"), "w") as f:
        json.dump(manifest, f)
    return mount(root, digest)


def mount(root, digest):
    return {
        "host_path": f"{root}/package",
        "mount_path": f"/opt/langbot-artifacts/{digest.removeprefix('sha256:')}",
        "mode": "ro",
        "content_digest": digest,
        "manifest_path": f"{root}/manifest.json",
    }
