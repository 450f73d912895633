"""The parts of LangBot that use Box, without the rest of it.

LangBot's application module imports every platform adapter and model provider, more than a gigabyte of packages.
The Box parts name it for type annotations only, so an empty module takes its place. Everything else is LangBot's own.
"""

import importlib
import importlib.util
import os
import sys
import types

import langbot.pkg
import langbot.pkg.core


def _empty(name, **members):
    module = types.ModuleType(name)
    module.__dict__.update(members)
    sys.modules[name] = module
    parent, _, child = name.rpartition(".")
    setattr(sys.modules[parent], child, module)
    return module


_empty("langbot.pkg.core.app", Application=object)
# The package would import its manager, and that the application; its modules can be had one by one.
_empty("langbot.pkg.skill").__path__ = [os.path.join(os.path.dirname(langbot.pkg.__file__), "skill")]


def part(name):
    """A module of LangBot, or None where this version does not have it."""
    try:
        found = importlib.util.find_spec(f"langbot.pkg.{name}")
    except ModuleNotFoundError:
        found = None
    return importlib.import_module(f"langbot.pkg.{name}") if found else None


service = part("box.service")
mcp_stdio = part("provider.tools.loaders.mcp_stdio")
runner = part("box.runner")  # since 4.11.0
native = part("provider.tools.loaders.native") if runner else None
mcp = part("provider.tools.loaders.mcp") if runner else None
repository = part("skill.repository") if runner else None  # since 4.11.1
authoring = part("provider.tools.loaders.skill_authoring") if repository else None
