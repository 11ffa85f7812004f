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


#: What was run, with which version, against what, and which test does it; not by this script.
TRIED = """
## Tested machines

No class was run with a real instrument. These were run as devices of a bench with PyLabRobot 0.2.2 (main of 2026-08-21, commit 598b58f) on 2026-11-29; set `PYLABROBOT` to a checkout to run the tests again.

| class, without `pylabrobot.` | against | tried | test |
|---|---|---|---|
| `legacy.centrifuge.MicroSpin` | PyLabRobot's mock server of a MicroSpin, over TCP | initialize, home, spin; its rotor stands after a stop, an unplug and a kill of the program | `pylabrobot_library.test.ts` |
| `qinstruments.BioShake` | the simulated instrument of the driver `bioshake`, on a pseudo-terminal | initialize, shake; it stands after a stop, an unplug and a kill of the program | `pylabrobot_library.test.ts` |
| `legacy.heating_shaking.HeaterShakerChatterboxBackend` | itself: it only prints what it is told | initialize, shake, heat, a halt during each, a kill of the program | `pylabrobot_library.test.ts` |
| `legacy.storage.cytomat.cytomat.CytomatChatterbox` | itself, as above | initialize, shake, take in a plate, a halt during each, a kill of the program | `pylabrobot_library.test.ts` |
| `legacy.thermocycling.ThermocyclerChatterboxBackend` | itself, as above | initialize, heat the block, run a protocol, a halt during each, a kill of the program | `pylabrobot_library.test.ts` |
| `legacy.plate_reading.PlateReaderChatterboxBackend` | itself, as above | initialize, read absorbance and luminescence, a kill of the program; nothing halts it | `pylabrobot_library.test.ts` |
| `legacy.liquid_handling.backends.hamilton.STAR_chatterbox.STARChatterboxBackend` | itself, as above | initialize, ask for the state of the iSWAP, raise the channels, a halt during each, a kill of the program | `pylabrobot_library.test.ts` |
| `brooks.precise_flex.PreciseFlex` | a stand-in of the controller | initialize, pick, a stop during a place | `precise_flex_bridge.test.ts` |
| `brooks.precise_flex.PreciseFlex` | the simulated instrument of the driver `precise_flex`, over TCP, without a bridge | set up, move, pick, place, stop | `drivers/precise_flex/pylabrobot.test.ts` |
| `ufactory.xarm6.XArm6` | a stand-in of the SDK of the arm | initialize, pick, place, jog, free drive, a stop during a pick, also over a connection that was cut | `xarm6_bridge.test.ts` |"""


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
{offered} of {methods} public methods ({100 * offered / methods:.1f} %) are operations with all of their parameters. No instrument was used for it ([what was tried](#tested-machines)). *Halt* is what the bridge proposes; see what your instrument does, and
name it by `--halt`. A method in *Not offered* stands with the parameter that cannot be given over HTTP, or *name* if its name is longer than 64 characters.

| class, without `pylabrobot.` | machines | type | operations | halt | not offered |
|---|---|---|---|---|---|""")
for each in rows:
    print(f"| `{each['class']}` | {each['machines']} | {each['type']} | {each['offered']} of {each['methods']} | {each['halt']} | {each['lacking']} |")
print(TRIED)
if offered < 0.9 * methods:
    sys.exit(f"only {offered} of {methods} methods are offered")
