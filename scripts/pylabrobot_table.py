"""Prints the page of PyLabRobot's devices as devices of the bench, from a checkout: python3 scripts/pylabrobot_table.py CHECKOUT [DATE]

Each concrete backend of PyLabRobot and each class that its registry of devices names is described as the bridge describes it; none of them is made, and no
instrument is needed. Ends with 1 if one cannot be described, or if fewer than 90 % of the public methods are offered with all of their parameters.
"""

import importlib
import inspect
import json
import pkgutil
import sys
import typing
import warnings
from pathlib import Path

checkout = Path(sys.argv[1]).resolve()
date = sys.argv[2] if len(sys.argv) > 2 else "today"
sys.path[:0] = [str(checkout), str(Path(__file__).resolve().parent.parent / "src/clients/python")]
warnings.simplefilter("ignore")

import benchd_bridge_pylabrobot as bridge  # noqa: E402
import pylabrobot  # noqa: E402


def modules():
    """Yields every module that can be imported; some are deprecated, and raise."""
    walk = pkgutil.walk_packages(pylabrobot.__path__, "pylabrobot.", onerror=lambda name: None)
    while True:
        try:
            found = next(walk)
        except StopIteration:
            return
        except Exception:
            continue
        if "test" not in found.name.rpartition(".")[2] and ".tests" not in found.name:
            try:
                yield importlib.import_module(found.name)
            except Exception as error:
                print(f"{found.name} cannot be imported: {error}", file=sys.stderr)


def is_device(kind):
    names = {base.__name__ for base in kind.__mro__[1:]}
    return "MachineBackend" in names and not inspect.isabstract(kind) and not kind.__name__.startswith("_")


def registered():
    """The machines of the registry by the class that drives them."""
    found = {}
    for device in json.loads((checkout / "docs/_static/devices.json").read_text()):
        module, _, name = (device.get("api") or "").rpartition(".")
        if not module:
            continue
        api = getattr(importlib.import_module(module), name)
        kind = api if isinstance(api, type) else typing.get_type_hints(api).get("return")
        # The front of a legacy device: the bridge takes its backend.
        kind = getattr(importlib.import_module(module), f"{name}Backend", kind)
        found.setdefault(kind, []).append(f"{device['vendor']} {device['name']}")
    return found


def row(kind, machines):
    halts = bridge.halts_of(kind)
    operations, others = bridge.operations_of(kind, bridge.Options(), [halt.method for halt in halts])
    names = bridge.methods_of(kind)
    lacking = {name.partition("(")[0] for name in others}
    words = {name: reason.partition(":")[0] if "too long" not in reason else "name" for name, reason in others.items()}
    return {
        "class": f"{kind.__module__}.{kind.__name__}".replace("pylabrobot.", "", 1),
        "machines": ", ".join(sorted(machines)),
        "type": bridge.type_of(kind),
        "methods": len(names),
        "offered": len(names) - len(lacking),
        "halt": ", ".join(f"`{halt}`" for halt in halts) or ", ".join(f"`{name}` with {' and '.join(its)}" for name, its in bridge.unfinished_halts_of(kind).items()) or "none",
        "lacking": ", ".join(f"`{name}` ({reason})" for name, reason in words.items()),
    }


kinds = {kind for module in modules() for kind in vars(module).values() if isinstance(kind, type) and kind.__module__ == module.__name__ and is_device(kind)}
machines = registered()
rows = sorted((row(kind, machines.get(kind, [])) for kind in kinds | set(machines)), key=lambda each: each["class"])
methods, offered = (sum(each[word] for each in rows) for word in ("methods", "offered"))
print(f"""# PyLabRobot's devices

<!-- Made by scripts/pylabrobot_table.py: do not edit. -->

This page shows each backend of PyLabRobot {pylabrobot.__version__} ({date}) and each class that its registry of devices names, as the [bridge](../../../drivers/README.md#pylabrobot) describes it:
{offered} of {methods} public methods ({100 * offered / methods:.1f} %) are operations with all of their parameters. No instrument was used for it. *Halt* is what the bridge proposes; see what your instrument does, and
name it by `--halt`. A method in *Not offered* stands with the parameter that cannot be given over HTTP, or *name* if its name is longer than 64 characters.

| class, without `pylabrobot.` | machines | type | operations | halt | not offered |
|---|---|---|---|---|---|""")
for each in rows:
    print(f"| `{each['class']}` | {each['machines']} | {each['type']} | {each['offered']} of {each['methods']} | {each['halt']} | {each['lacking']} |")
if offered < 0.9 * methods:
    sys.exit(f"only {offered} of {methods} methods are offered")
