"""Devices of PyLabRobot as devices of the bench: https://<bench>/clients/benchd_bridge_pylabrobot.py, beside benchd_bridge.py.

    python3 benchd_bridge.py pylabrobot pylabrobot.qinstruments.BioShake3000 name=shaker port=/dev/ttyUSB0 --halt stop_shaking

makes the methods of a class of PyLabRobot operations of a device: of a backend, or of a plain class with `setup()` and `stop()`.
"""

# Whoever checks a program with types checks this file too: PyLabRobot is not there then.
# mypy: disable-error-code="no-any-return"
# pyright: basic

from __future__ import annotations

import argparse
import asyncio
import contextvars
import difflib
import functools
import importlib
import importlib.util
import inspect
import json
import os
import re
import sys
import time
import typing
from typing import Any, Callable, Dict, List, NamedTuple, NoReturn, Optional, Sequence, Set, Tuple

from benchd_bridge import Bridge, Busy, DeviceFailed, Interlock, Invalid, Params, Shape, more_shapes, operation, plain
from benchd_bridge import _hints, _summary, _words  # pyright: ignore[reportPrivateUsage]

__all__ = ["Options", "main", "pylabrobot_bridge"]

#: The methods that end something, by their names, in the order in which a halt calls them: motion, heat, the rest.
_HALTS = (
    re.compile(r"stop_(shaking|shake|spin|rotation|motion|motors?|movement|pump\w*|all|method|run|protocol)|abort\w*|cancel\w*|halt|emergency_stop"),
    re.compile(r"deactivate\w*|(stop|switch_off|turn_off)_(heat|heater|heating|temperature)\w*|\w*switch_off_temperature\w*"),
    re.compile(r"(turn|switch)_off|stop_\w+"),
)
_SIMULATION = re.compile(r"chatterbox|simulat", re.I)
#: Switches that are off at False.
_SWITCHES = re.compile(r"set_(heater|heating|laser|lamp|pump|vacuum)")
#: Ends of the connection and of what a person leads, what opens a gripper, and what clears an error.
_NO_HALTS = re.compile(r"stop|setup|\w*(grip|clamp|freedrive|acquisition|clear|eject)\w*")
#: What only asks, and leaves nothing on.
_QUESTION = re.compile(r"(request|get|is|has|are|enquire|list|check|describe|read_version|ping)(_\w+)?")
#: What returns when something has begun: it goes on until something ends it.
_ENDLESS = re.compile(r"start_\w+|run_(continuously|protocol|pcr_profile|method)|turn_on\w*|write_speed")
#: Methods that ask the instrument something and move nothing, the best first.
_CHECKS = (
    *("request_current_temperature", "get_current_temperature", "request_temperature", "get_temperature", "request_status", "get_status"),
    *("request_firmware_version", "get_firmware_version", "request_version", "request_serial_number", "get_serial_number", "ping"),
    *("request_device_info", "get_overview_register", "request_error_code", "request_tare_weight", "get_lid_open", "get_door_open"),
)
_THERMOMETERS = ("request_current_temperature", "get_current_temperature", "request_temperature", "get_temperature")
#: The type of a device by its methods; the first row counts that has one of them.
_TYPES = (
    ("liquid_handler", ("aspirate", "aspirate96", "pick_up_tips")),
    ("transporter", ("pick_up_at_location", "move_to_location", "pick_up_resource", "pick_up_at", "move_to")),
    ("centrifuge", ("spin",)),
    ("thermocycler", ("run_protocol", "set_block_temperature")),
    ("sealer", ("seal",)),
    ("peeler", ("peel",)),
    ("decapper", ("decap",)),
    ("delidder", ("delid",)),
    ("incubator", ("take_in_plate", "fetch_plate_to_loading_tray", "request_drawer_status", "open_drawer", "request_co2_flow_status")),
    ("stacker", ("downstack", "upstack")),
    ("reader", ("read_absorbance", "read_fluorescence", "read_luminescence", "capture")),
    ("washer", ("wash", "manifold_wash", "set_washer_manifold", "run_self_check")),
    ("dispenser", ("dispense", "peristaltic_dispense")),
    ("pump", ("run_continuously", "run_revolutions", "pump_volume", "write_speed")),
    ("scale", ("read_weight", "get_weight", "measure_weight", "tare")),
    ("scanner", ("scan_barcode", "scan_rack", "scan_rack_id", "acquire")),
    ("shaker", ("start_shaking", "shake")),
    ("tilter", ("set_angle", "tilt")),
    ("fan", ("turn_on",)),
    ("temperature_controller", ("set_temperature",)),
    ("loader", ("load", "unload")),
)
#: Operations of every bench, with the parameters that they take there: a method of that name with others gets another name.
_OF_EVERY_BENCH: Dict[str, Set[str]] = {
    "shake": {"speed", "duration"},
    "centrifuge": {"g", "duration"},
    "seal": {"temperature", "duration"},
    "peel": {"parameter_set", "adhere"},
    "open": set(),
    "close": set(),
    "lock_plate": set(),
    "unlock_plate": set(),
    "set_temperature": {"temperature"},
}
#: Not operations: the ends of the connection, and what only Python needs.
_NOT_OPERATIONS = {"setup", "stop", "serialize", "deserialize"}
_TAKEN = {"get_temperature", "temperature", "initialized", "pose", "perform", "machine"}
#: Methods of PyLabRobot's model of labware, which a device of the new style inherits: they move nothing.
_LABWARE_MODULES = ("pylabrobot.resources", "pylabrobot.serializer", "pylabrobot.legacy.machines")
#: Units of parameters and results, by the end of their names: PyLabRobot's own units.
_UNITS = (
    (r"wavelengths?|bandwidth", "nm"),
    (r"temperature|temp", "°C"),
    (r"duration|timeout|seconds|\w+_time|time|timestamp", "s"),
    (r"g", "×g"),
    (r"rpm|tachometer", "rpm"),
    (r"\w*_mm|focal_height|height|width|distance", "mm"),
    (r"volume|volumes|vols?", "µL"),
    (r"absorbance", "OD"),
    (r"fluorescence", "RFU"),
    (r"luminescence", "RLU"),
    (r"weight|\w+_weight", "g"),
    (r"co2|o2|humidity", "%"),
)
#: The unit of a speed, by the words of a docstring.
_SPEEDS = ((re.compile(r"\brpm\b|revolutions per minute", re.I), 1.0), (re.compile(r"\bhz\b|hertz", re.I), 1 / 60))
#: PyLabRobot does not say how long a method takes.
_USUAL_S, _MARGIN_S = 60, 540
_MOST_OPERATIONS, _LONGEST_NAME = 1000, 64
#: So many labware are kept in memory.
_MOST_LABWARE = 64
#: A halt is answered within this time, and goes on if it takes longer. The bench ends a program that has not answered after 5 s (`halt_s`).
_HALT_S = 4.0
#: One method of a halt may take so long, and so long until its first byte is written.
_ONE_HALT_S, _FIRST_BYTE_S = 20.0, 0.3
#: The same on a port that was opened anew, where nobody else holds a lock: until its first byte is written.
_FIRST_BYTE_ANEW_S = 3.0
#: Between two halts while something that cannot be ended still runs.
_AGAIN_S = 1.0
#: The answer to a question may take so long.
_ANSWER_S = 2.0
#: The end of a connection, which may be gone, may take so long.
_CLOSE_S = 1.0
#: A halt that takes longer than this does not come to an end: the program ends, and is started again.
_LONGEST_HALT_S = 60.0
#: Between two questions to an instrument that shakes.
_LOOK_S = 2.0


class Options(NamedTuple):
    """How a class becomes a device."""

    #: The type of the device; without it, its methods tell it.
    type: Optional[str] = None
    #: A method that asks the instrument something and moves nothing.
    check: Optional[str] = None
    #: The methods that end motion and heat, in their order; None: they are guessed by their names, and proposed.
    halt: Optional[Sequence["Halt"]] = None
    #: How long a method takes, where that is not a parameter `duration`.
    seconds: Dict[str, float] = {}
    #: The least and the largest value of a parameter, by `operation.parameter`.
    limits: Dict[str, Tuple[float, float]] = {}
    #: Methods that are called whenever the object is made, with their parameters.
    calls: Sequence[Tuple[str, Dict[str, Any]]] = ()


class _Wells(NamedTuple):
    """The wells of a plate that is known when all parameters are."""

    text: str
    is_one: bool


class Labware:
    """The plates and other labware that parameters name, by the names of PyLabRobot's library."""

    def __init__(self) -> None:
        self.known: Dict[str, Any] = {}
        #: The last plate that a parameter named.
        self.plate: Any = None
        #: The racks of a storage, in which a site is `RACK/SITE`, both counted from 1; and the package of its class, which may have racks of its own.
        self.racks: Callable[[], Sequence[Any]] = lambda: ()
        self.home = ""

    def named(self, name: str) -> Any:
        if name not in self.known:
            make = next((found for found in (getattr(library, name, None) for library in self._libraries()) if _makes_labware(found)), None)
            if make is None:
                words = [word for library in self._libraries() for word, each in vars(library).items() if _makes_labware(each)]
                near = difflib.get_close_matches(name, words, 1)
                raise ValueError(f"PyLabRobot has no labware {name!r}" + (f"; did you mean {near[0]}?" if near else ""))
            try:
                made = make(name=name) if "name" in inspect.signature(make).parameters else make()
            except Exception as error:  # noqa: B902: a library raises what it likes
                raise ValueError(f"PyLabRobot cannot make {name!r}: {_words(error)}") from error
            if not _kinds(type(made)) & {"Resource", "Tip"}:
                raise ValueError(f"{name!r} of PyLabRobot is no labware")
            if len(self.known) == _MOST_LABWARE:
                del self.known[next(iter(self.known))]
            self.known[name] = made
        found = self.known[name]
        if hasattr(found, "get_items"):
            self.plate = found
        return found

    def _libraries(self) -> List[Any]:
        """PyLabRobot's library, and the racks beside the class of the device."""
        found = [importlib.import_module("pylabrobot.resources")]
        if self.home.startswith("pylabrobot.") and importlib.util.find_spec(f"{self.home}.racks") is not None:
            found.append(importlib.import_module(f"{self.home}.racks"))
        return found

    def site(self, text: str) -> Any:
        try:
            rack, site = (int(word) for word in text.split("/"))
            return self.racks()[rack - 1][site - 1]
        except (ValueError, IndexError, KeyError, TypeError, AssertionError) as error:
            raise ValueError(f"there is no site {text!r}; a site is RACK/SITE, both counted from 1") from error

    def wells(self, wells: _Wells) -> Any:
        name, _, text = wells.text.rpartition("/")
        plate = self.named(name) if name else self.plate
        if plate is None:
            raise ValueError(f"{wells.text}: no parameter names the plate; write PLATE/{wells.text}")
        found = [well for part in text.split(",") for well in plate.get_items(part.strip())] if text else plate.get_all_items()
        return found[0] if wells.is_one else found

    def shape(self, annotation: Any) -> Optional[Shape]:
        """How PyLabRobot's labware looks in JSON: by names."""
        item = (typing.get_args(annotation) or (None,))[0]
        origin: Any = typing.get_origin(annotation)
        is_list = isinstance(origin, type) and issubclass(origin, typing.Sequence)
        kinds = _kinds(item if is_list else annotation)
        if kinds & {"Well", "TipSpot"}:
            words = "wells such as A1:H12 or A1,B3; PLATE/A1:H12 where no parameter names the plate"
            return Shape({"type": "string", "description": words}, lambda text: _Wells(str(text), not is_list))
        if is_list or not kinds:
            return None
        if kinds & {"PlateHolder", "ResourceHolder"}:
            return Shape({"type": "string", "description": "a site, RACK/SITE, both counted from 1"}, self.site)
        if kinds & {"Resource", "Tip"}:
            return Shape({"type": "string", "description": "the name of a labware in PyLabRobot's library"}, self.named)
        # Anything else, such as a rotation, is made of what its class takes.
        return None if hasattr(annotation, "__dataclass_fields__") or kinds & {"Enum", "Flag"} else _of_init(annotation)

    def resolved(self, value: Any) -> Any:
        """Returns the value with its wells, wherever it has some."""
        if isinstance(value, _Wells):
            return self.wells(value)
        if isinstance(value, list):
            return [self.resolved(each) for each in value]
        return value


def _makes_labware(thing: Any) -> bool:
    """Whether a member of the library is a labware, or a function that returns one: a caller on the network must not call anything else."""
    if not inspect.isfunction(thing):
        return bool(_kinds(thing) & {"Resource", "Tip"})
    hints = _hints(thing)
    # Racks of a storage do not say what they return; they take a name, as each labware does.
    return bool(_kinds(hints["return"]) & {"Resource", "Tip"}) if "return" in hints else "name" in inspect.signature(thing).parameters


def _kinds(annotation: Any) -> Set[str]:
    """The names of the classes that a class of PyLabRobot is one of."""
    is_its = getattr(annotation, "__module__", "").startswith("pylabrobot.")
    return {each.__name__ for each in getattr(annotation, "__mro__", ())} if is_its else set()


def _of_init(annotation: Any) -> Shape:
    params = Params(annotation.__init__, annotation)
    return Shape(params.schema, lambda given: annotation(**params.made(given)))


labware = Labware()
more_shapes.append(labware.shape)


class Method:
    """A method of a class as an operation: its description, and the arguments of a call."""

    def __init__(self, name: str, owner: Any, options: Options, halts: Sequence[str]) -> None:
        """Raises a TypeError, with the reason, for a method that cannot be an operation."""
        function = getattr(owner, name)
        self.name = name
        self.params = Params(function, owner, isinstance(inspect.getattr_static(owner, name), (staticmethod, classmethod)))
        properties = self.params.schema["properties"]
        for param, schema in properties.items():
            if not {"number", "integer", "array"}.isdisjoint([schema["type"]] if isinstance(schema["type"], str) else schema["type"]):
                schema.update({word: value for word, value in (("unit", _unit(param)),) if value})
        if any(schema.get("description", "").startswith("wells") for schema in properties.values()):
            # All wells of the plate, unless the caller names some.
            self.params.schema["required"] = [each for each in self.params.schema["required"] if not properties[each].get("description", "").startswith("wells")]
        duration = properties.get("duration", {}).get("type")
        is_timed = duration in ("number", "integer") and name not in options.seconds
        noun = re.sub(r"^(request|get|read|measure|scan)_(current_)?", "", name)
        self.noun = noun
        units = {each: unit for each in (noun, *_result_names(function)) for unit in (_unit(each),) if unit and noun != name}
        self.description = {
            "summary": _summary(function),
            "params": self.params.schema,
            "seconds": {"param": "duration", "plus": _USUAL_S} if is_timed else options.seconds.get(name, _USUAL_S),
            "margin_s": _MARGIN_S,
            "leaves_on": _left_on(name, properties, halts),
            "can_end_early": False,
            **({"returns": units} if units else {}),
        }
        self.wells = [each for each, schema in properties.items() if schema.get("description", "").startswith("wells")]

    def arguments(self, given: Dict[str, Any]) -> Dict[str, Any]:
        """Makes the arguments of a call, the labware before its wells. Raises `Invalid`."""
        values = self.params.values(given)
        if labware.plate is not None and {"plate", "resource"} & set(values):
            values = {**{name: _Wells("", False) for name in self.wells if name not in values}, **values}
        try:
            return {name: labware.resolved(value) for name, value in values.items()}
        except Exception as error:  # noqa: B902: a library raises what it likes for a well that is not there
            raise Invalid(str(error)) from error

    def result(self, value: Any) -> Any:
        """Returns a result as members with names: one that has none gets that of its method."""
        found = plain(value)
        if isinstance(found, list) and len(found) == 1 and isinstance(found[0], dict):
            found = found[0]
        if found is None:
            return None
        if not isinstance(found, dict):
            return {self.noun: found}
        return {self.noun if name == "data" else name: each for name, each in found.items()}


def _result_names(function: Callable[..., Any]) -> Sequence[str]:
    returned = str(getattr(function, "__annotations__", {}).get("return", ""))
    return ("wavelength", "excitation_wavelength", "emission_wavelength", "temperature", "time", "timestamp") if "read_" in function.__name__ or "Result" in returned else ()


def _unit(name: str) -> Optional[str]:
    return next((unit for pattern, unit in _UNITS if re.fullmatch(rf"(\w+_)?({pattern})", name)), None)


def _left_on(name: str, properties: Dict[str, Any], halts: Sequence[str]) -> Optional[str]:
    """What goes on when a method has ended. One of several halts ends a part of it."""
    if name in halts:
        return "no heat" if len(halts) == 1 else None
    return None if _QUESTION.fullmatch(name) else "heat" if _goes_on(name, properties) else "motion"


def _goes_on(name: str, properties: Dict[str, Any]) -> bool:
    """Whether what a method begins goes on when the method has ended, until the device is halted. The bench calls that heat."""
    is_endless = _ENDLESS.fullmatch(name) is not None or (name == "shake" and "duration" not in properties)
    return is_endless or "temperature" in name or "temperature" in properties


def methods_of(owner: Any) -> List[str]:
    """The public methods of a class, without those of PyLabRobot's model of labware and the ends of the connection."""
    return [
        name
        for name, method in inspect.getmembers(owner, inspect.isroutine)
        if not name.startswith("_") and name not in _NOT_OPERATIONS and hasattr(method, "__code__")
        if not (method.__module__ or "").startswith(_LABWARE_MODULES) and not isinstance(inspect.getattr_static(owner, name), classmethod)
    ]


class Halt(NamedTuple):
    """A method that ends something, with its arguments. As a word it is `METHOD`, or `METHOD={"param": value}`."""

    method: str
    given: Dict[str, Any] = {}

    def __str__(self) -> str:
        return self.method + (f"={json.dumps(self.given)}" if self.given else "")


def halts_of(owner: Any) -> List[Halt]:
    """The methods that end motion and heat, guessed by their names, in the order in which a halt calls them."""
    needs = {name: _needs(getattr(owner, name)) for name in methods_of(owner) if not _NO_HALTS.fullmatch(name)}
    ordered = [Halt(name) for pattern in _HALTS for name, its in needs.items() if pattern.fullmatch(name) and not its]
    off = {} if "deactivate" in needs else needs
    switches = [Halt(name, {its[0]: False}) for name, its in off.items() if _SWITCHES.fullmatch(name) and its in (["on"], ["enabled"], ["active"])]
    return list({halt.method: halt for halt in (*ordered, *switches)}.values())


def unfinished_halts_of(owner: Any) -> Dict[str, List[str]]:
    """The methods that seem to end something and need parameters that nobody can guess."""
    needs = {name: _needs(getattr(owner, name)) for name in methods_of(owner) if not _NO_HALTS.fullmatch(name)}
    return {name: its for name, its in needs.items() if its and any(pattern.fullmatch(name) for pattern in _HALTS[:2])}


def _needs(method: Any) -> List[str]:
    """The parameters without a default."""
    parameters = list(inspect.signature(method).parameters.values())[1:]
    return [each.name for each in parameters if each.default is each.empty and each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)]


def type_of(owner: Any) -> str:
    names = set(methods_of(owner))
    return next((word for word, its in _TYPES if names & set(its)), "instrument")


def operations_of(owner: Any, options: Options, halts: Sequence[str]) -> Tuple[Dict[str, Method], Dict[str, str]]:
    """Returns the operations of a class by their names on the bench, and the public methods that are none with the reason of each.

    The method of its thermometer is a reading.
    """
    found: Dict[str, Method] = {}
    others: Dict[str, str] = {}
    thermometer = thermometer_of(owner)
    for name in methods_of(owner):
        if name == thermometer:
            continue
        try:
            method = Method(name, owner, options, halts)
        except (TypeError, ValueError) as error:
            others[name] = str(error)
            continue
        known = _OF_EVERY_BENCH.get(name)
        properties = method.params.schema["properties"]
        is_alike = known is None or (known == set(properties) and all(_is_number(schema) for schema in properties.values()))
        # A shake that the bridge makes of its beginning and its end asks the instrument questions meanwhile.
        is_made = name == "shake" and _speed_of(owner) is not None
        told = (name if is_alike and not is_made and name not in _TAKEN and not hasattr(_PyLabRobot, name) else f"backend_{name}").lower()
        if not re.fullmatch(f"[a-z][a-z0-9_]{{0,{_LONGEST_NAME - 1}}}", told):
            others[name] = "its name is too long, or not in small letters"
        elif len(found) == _MOST_OPERATIONS:
            others[name] = f"there are more than {_MOST_OPERATIONS} methods"
        else:
            found[told] = method
            for param, reason in method.params.left_out.items():
                others[f"{name}({param})"] = reason
    return found, others


def _is_number(schema: Dict[str, Any]) -> bool:
    return schema["type"] in ("number", "integer") or set(schema["type"]) <= {"number", "integer", "null"}


def pylabrobot_bridge(make: Callable[[], Any], options: Options = Options(), device: Any = None) -> Bridge:
    """Makes a bridge of a device of PyLabRobot: of `device`, or of what `make` returns.

    `make` is called again where a halt cannot come through the old object. Raises a ValueError for a method that the class does not have.
    """
    device = make() if device is None else device
    owner = type(device)
    halts = list(options.halt if options.halt is not None else halts_of(owner))
    _must_have(owner, [*(halt.method for halt in halts), *([options.check] if options.check else []), *options.seconds])
    calls = [_call_of(owner, halt) for halt in halts]
    operations, others = operations_of(owner, options, [halt.method for halt in halts])
    for name, reason in others.items():
        print(f"{owner.__name__}: {name} is not offered: {reason}", file=sys.stderr)
    thermometer = thermometer_of(owner)
    members: Dict[str, Any] = {
        "type": options.type or type_of(owner),
        "model": owner.__name__,
        "can_halt": bool(halts),
        **{name: _calling(method) for name, method in operations.items()},
    }
    members.update(_derived(owner, members))
    for place, limits in options.limits.items():
        _limit(members, place, limits)
    if thermometer is not None:
        members["temperature"] = lambda self: self.ask(thermometer)
    bridge = type("PyLabRobot", (_PyLabRobot,), members)()
    bridge.machine, bridge.halts = _Machine(make, options, device), calls
    bridge.proposed = [str(halt) for halt in halts] if options.halt is None else []
    for name, needs in unfinished_halts_of(owner).items() if options.halt is None else ():
        print(f"{bridge.model}: {name} may belong to its halt, and needs {', '.join(needs)}: --halt '{name}={{…}}'", file=sys.stderr)
    guessed = [name for name in _CHECKS if callable(getattr(owner, name, None)) and not _needs(getattr(owner, name))]
    bridge.questions, bridge.is_guessed = [options.check] if options.check else guessed, not options.check
    if not bridge.questions:
        print(f"{bridge.model}: nothing asks how it is; name a method that moves nothing: --check METHOD", file=sys.stderr)
    return bridge


def _limit(members: Dict[str, Any], place: str, limits: Tuple[float, float]) -> None:
    """Narrows a parameter of an operation, which may be named as its method is. Raises a ValueError if there is none."""
    name, _, param = place.partition(".")
    found = [getattr(members.get(each), "__bridge__", {"params": {"properties": {}}})["params"]["properties"] for each in (name, f"backend_{name}")]
    schema = next((properties[param] for properties in found if param in properties), None)
    if schema is None:
        raise ValueError(f"--limit {place}: no operation {name} has a parameter {param}")
    schema.update(zip(("minimum", "maximum"), limits))


def _must_have(owner: Any, names: Sequence[str]) -> None:
    for name in names:
        if not callable(getattr(owner, name, None)):
            near = difflib.get_close_matches(name, methods_of(owner), 3)
            raise ValueError(f"{owner.__name__} has no method {name}" + (f"; it has {', '.join(near)}" if near else ""))


def _call_of(owner: Any, halt: Halt) -> Tuple[str, Dict[str, Any]]:
    """Returns the method of a halt with its arguments. Raises a ValueError for parameters that are missing or wrong."""
    missing = set(_needs(getattr(owner, halt.method))) - set(halt.given)
    if missing:
        raise ValueError(f"{halt.method} of {owner.__name__} needs {', '.join(sorted(missing))}: --halt '{halt.method}={{…}}'")
    try:
        return halt.method, Method(halt.method, owner, Options(), ()).arguments(halt.given)
    except (DeviceFailed, TypeError, KeyError) as error:
        raise ValueError(f"--halt {halt}: {error}") from error


def thermometer_of(owner: Any) -> Optional[str]:
    """The method that is the reading of the temperature."""
    return next((name for name in _THERMOMETERS if _is_thermometer(getattr(owner, name, None))), None)


def _is_thermometer(method: Any) -> bool:
    if not callable(method) or _needs(method):
        return False
    returned = str(getattr(method, "__annotations__", {}).get("return", "float"))
    return "float" in returned and not any(word in returned for word in ("Tuple", "tuple", "Dict", "dict", "List", "list"))


def _calling(method: Method) -> Callable[..., Any]:
    async def call(self: Any, **given: Any) -> Any:
        return method.result(await self.run(getattr(self.machine.device, method.name), method.arguments(given)))

    call.__bridge__ = method.description  # type: ignore[attr-defined]
    call.__params__ = _AsGiven()  # type: ignore[attr-defined]
    return call


class _AsGiven:
    """The parameters as JSON has them: `Method.arguments` makes the values."""

    def values(self, given: Dict[str, Any]) -> Dict[str, Any]:
        return given


def _derived(owner: Any, members: Dict[str, Any]) -> Dict[str, Any]:
    """The operations of every bench that methods with other parameters amount to."""
    found: Dict[str, Any] = {}
    told = getattr(members.get("set_temperature"), "__bridge__", None)
    if told is not None and callable(getattr(owner, "deactivate", None)) and not _needs(owner.deactivate):
        found["set_temperature"] = _switching_off(members["set_temperature"])
    speed = _speed_of(owner)
    if speed is not None:
        param, factor = speed

        @operation(seconds=("duration", 10), units={"speed": "rpm", "duration": "s"}, minimum={"speed": 0, "duration": 0})
        async def shake(self: Any, speed: float, duration: float) -> None:
            """Shake, and stand still again"""
            await self.run(self.shake_for, {"params": {param: speed * factor}, "duration": duration})

        found["shake"] = shake
    for word in ("open", "close", "lock_plate", "unlock_plate"):
        own: Any = getattr(owner, word, None)
        if word not in members and callable(own):
            call = _without_parameters(word, own, owner)
            found.update({} if call is None else {word: call})
    spin: Any = getattr(owner, "spin", None)
    if "centrifuge" not in members and spin is not None and {"g", "duration"} <= set(inspect.signature(spin).parameters) and set(_needs(spin)) <= {"g", "duration"}:

        @operation(seconds=("duration", _USUAL_S), margin=_MARGIN_S, units={"g": "×g", "duration": "s"}, minimum={"g": 0, "duration": 0})
        async def centrifuge(self: Any, g: float, duration: float) -> None:
            """Spin, and come to a stand"""
            await self.run(self.machine.device.spin, {"g": g, "duration": duration})

        found["centrifuge"] = centrifuge
    return found


def _without_parameters(name: str, method: Callable[..., Any], owner: Any) -> Optional[Callable[..., Any]]:
    """The operation without parameters that a method is which can do without its own: each has a default, or may be None."""
    properties = Params(method, owner, is_lenient=True).schema["properties"]
    given = {each: None for each in _needs(method)}
    if any("null" not in properties.get(each, {}).get("type", ()) for each in given):
        return None

    async def call(self: Any) -> None:
        await self.run(getattr(self.machine.device, name), given)

    call.__doc__ = _summary(method)
    return operation(seconds=_USUAL_S, margin=_MARGIN_S)(call)


def _speed_of(owner: Any) -> Optional[Tuple[str, float]]:
    """The parameter of `start_shaking` that is its speed, and the factor from rpm; None if it needs something else, or another unit."""
    start = getattr(owner, "start_shaking", None)
    stop = getattr(owner, "stop_shaking", None)
    if not callable(start) or not callable(stop) or _needs(stop):
        return None
    names = [name for name in ("speed", "rpm", "frequency", "frequency_hz") if name in inspect.signature(start).parameters]
    if not names or set(_needs(start)) - {names[0]}:
        return None
    # The words of the parameter in the docstring count, as far as there are some.
    text = inspect.getdoc(start) or ""
    line = next((line for line in text.splitlines() if re.match(rf"\s*{names[0]}\s*(\(.*\))?:", line)), "") or text
    factor = next((factor for pattern, factor in _SPEEDS if pattern.search(line)), None)
    if factor is None and re.search(r"\bsteps?\b|\bmm\b|\bpercent\b|%", line):
        return None
    return names[0], factor or (1 / 60 if names[0].startswith("frequency") else 1.0)


def _switching_off(set_temperature: Callable[..., Any]) -> Callable[..., Any]:
    """The same operation, which calls `deactivate` where the temperature is None."""

    async def call(self: Any, temperature: Optional[float]) -> Any:
        if temperature is None:
            return await self.run(self.machine.device.deactivate, {})
        return await set_temperature(self, temperature=temperature)

    told = set_temperature.__bridge__  # type: ignore[attr-defined]
    params = told["params"]
    described = {**params["properties"]["temperature"], "type": [params["properties"]["temperature"]["type"], "null"]}
    call.__bridge__ = {**told, "params": {**params, "properties": {"temperature": described}}}  # type: ignore[attr-defined]
    call.__params__ = _AsGiven()  # type: ignore[attr-defined]
    return call


#: Where the writes and reads of a halt are noted; None in anything else, such as a question of the library in the background.
_seen: "contextvars.ContextVar[Optional[List[str]]]" = contextvars.ContextVar("seen", default=None)


def _noting(seen: List[str], work: Any) -> "asyncio.Future[Any]":
    """Begins something whose writes and reads are noted."""
    token = _seen.set(seen)
    try:
        return asyncio.ensure_future(work)
    finally:
        _seen.reset(token)


class _Machine:
    """The object of PyLabRobot, with the ports that it writes to."""

    def __init__(self, make: Callable[[], Any], options: Options, device: Any) -> None:
        self.make, self.options = make, options
        #: The writes to its ports that have come to their end, and the ports that were opened.
        self.written = 0
        self.opened: Set[int] = set()
        #: Whether the ports of such an object were opened without its `setup`.
        self.opens_alone = False
        #: Whether a port that is opened ends its `setup`, before that moves the instrument.
        self.is_barred = False
        self._take(device)

    def _take(self, device: Any) -> None:
        self.device = device
        self.is_prepared = False
        labware.racks, labware.home = lambda: device.racks, type(device).__module__.rpartition(".")[0]
        self.parts = list(getattr(device, "__benchd_parts__", ()))
        self.ports: List[Any] = []
        self.opened.clear()
        self.look_for_ports()

    def look_for_ports(self) -> None:
        """Finds the ports that the object has now: its `setup` may have made others."""
        self.ports = []
        # PyLabRobot's simulations have the port of their instrument, and never open it.
        for each in () if _SIMULATION.search(type(self.device).__name__) else (self.device, *self.parts):
            self._find_ports(each, 3)
        for port in self.ports:
            self._watch(port)

    def _find_ports(self, thing: Any, levels: int) -> None:
        for each in list(getattr(thing, "__dict__", {}).values()):
            if any(base.__module__.startswith("pylabrobot.io") for base in type(each).__mro__) and callable(getattr(each, "write", None)):
                if all(each is not port for port in self.ports):
                    self.ports.append(each)
            elif levels > 0 and type(each).__module__.startswith("pylabrobot") and not _kinds(type(each)):
                self._find_ports(each, levels - 1)

    def _watch(self, port: Any) -> None:
        """Counts the writes to a port that have come to their end, and notes whether it was opened: a simulation never opens its port."""
        for name in ("setup", *(word for word in dir(port) if word == "write" or word.startswith("read"))):
            method = getattr(port, name, None)
            if callable(method) and getattr(method, "__watcher__", None) is not self:
                watched = self._watched(port, name, method)
                watched.__watcher__ = self  # type: ignore[attr-defined]
                setattr(port, name, watched)

    def _watched(self, port: Any, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        def note(result: Any) -> Any:
            if name == "setup" and self.is_barred:
                raise OSError("its port is back, and is opened alone next")
            self.opened.add(id(port))
            self.written += name == "write"
            seen = _seen.get()
            # A read without a byte is what a port of pyserial returns where nothing answers.
            if seen is not None and (result or name == "write"):
                seen.append(name)
            return result

        async def noted(result: Any) -> Any:
            return note(await result)

        def called(*args: Any, **kwargs: Any) -> Any:
            result = method(*args, **kwargs)
            return noted(result) if hasattr(result, "__await__") else note(result)

        async def awaited(*args: Any, **kwargs: Any) -> Any:
            return note(await method(*args, **kwargs))

        return awaited if inspect.iscoroutinefunction(method) else called

    @property
    def is_observed(self) -> bool:
        """Whether its writes are seen."""
        return any(id(port) in self.opened for port in self.ports)

    def renew(self) -> bool:
        """Takes a new object: an old one may hold a lock, or wait for an answer that never comes. Returns whether there is one."""
        try:
            self._take(self.make())
            return True
        except Exception as error:  # noqa: B902: a library raises what it likes
            print(f"it cannot be made once more: {_words(error)}", file=sys.stderr)
            return False

    async def _prepare(self) -> None:
        if self.is_prepared:
            return
        for name, given in self.options.calls:
            arguments = Method(name, type(self.device), self.options, ()).arguments(given)
            await _awaited(getattr(self.device, name), **arguments)
        self.is_prepared = True

    async def set_up(self, is_quick: bool = False) -> None:
        await self._prepare()
        try:
            for each in (*self.parts, self.device):
                setup = getattr(each, "setup", None)
                if setup is not None:
                    names = inspect.signature(setup).parameters
                    await _awaited(setup, **({name: True for name in names if name.startswith("skip_")} if is_quick else {}))
        finally:
            known = {id(port) for port in self.ports}
            self.look_for_ports()
            # A port that `setup` makes is opened there.
            self.opened |= {id(port) for port in self.ports} - known

    async def close(self) -> None:
        """Ends its connections. One that is gone cannot even be closed; and a `stop` may do nothing where there was no `setup`, so the ports are closed, too."""
        for each in (self.device, *reversed(self.parts)):
            await _bounded(getattr(each, "stop", None), _CLOSE_S)
        if self.ports:
            await self.close_ports()

    async def close_ports(self) -> None:
        if not self.ports:
            return await self.close()
        for port in self.ports:
            await _bounded(port.stop, _CLOSE_S)

    async def open_ports(self) -> None:
        """Opens the ports alone, where they are known: `setup` of an instrument may move it."""
        if not self.ports:
            return await self.set_up(is_quick=True)
        await self._prepare()
        for port in self.ports:
            await _awaited(port.setup)
        self.opens_alone = True

    def bar(self, error: BaseException) -> None:
        """Keeps `setup` from moving an instrument whose port could not be opened alone, and is back meanwhile. A simulation never opens its port."""
        self.is_barred = bool(self.ports) and (self.opens_alone or isinstance(error, (OSError, asyncio.TimeoutError)))

    async def free_ports(self) -> None:
        """Ends reads that nobody waits for any more, since the next write would wait for them, and drops late answers."""
        for port in self.ports:
            wake = getattr(getattr(port, "_ser", None), "cancel_read", None)
            if wake is not None:
                try:
                    wake()
                except Exception as error:  # noqa: B902: nothing keeps the halts from being called
                    print(f"cancel_read: {_words(error)}", file=sys.stderr)
            if getattr(port, "_executor", None) is not None or wake is not None:
                await _bounded(getattr(port, "reset_input_buffer", None), _CLOSE_S)


async def _bounded(method: Optional[Callable[..., Any]], seconds: float) -> None:
    """Calls a method that may fail or hang."""
    if method is None:
        return
    try:
        await asyncio.wait_for(_awaited(method), seconds)
    except (Exception, asyncio.CancelledError) as error:  # noqa: B902: a library raises what it likes
        print(f"{getattr(method, '__name__', method)}: {_words(error)}", file=sys.stderr)


class _PyLabRobot(Bridge):
    machine: _Machine
    #: The methods that end what it does, with their arguments.
    halts: Sequence[Tuple[str, Dict[str, Any]]] = ()
    #: The halts that nobody has accepted.
    proposed: Sequence[str] = ()
    #: The methods that ask the instrument something, the best first, and whether they were guessed by their names.
    questions: List[str] = []
    is_guessed = False
    #: Whether `setup` was called since `stop`, whether it has come to its end, and whether a halt has come through since.
    is_begun = False
    is_set_up = False
    is_reached = False
    #: Whether the last halts were sent, and nothing answered a question then.
    is_deaf = False
    #: What uses the port: operations, questions and `initialize`, which a halt ends or waits for before it opens the port again.
    using: Any = ()
    #: The halt that is under way, and when it began.
    ending: Any = None
    since = 0.0

    def describe(self) -> Dict[str, Any]:
        return {**super().describe(), **({"proposed_halt": list(self.proposed)} if self.proposed else {})}

    async def initialize(self) -> None:
        # Closing the port and opening it again is how a device of PyLabRobot starts over.
        self._begin()
        await self._using(self._open_anew(self.machine.set_up), can_cancel=True)
        self.is_set_up = True

    async def _open_anew(self, open_: Callable[[], Any]) -> None:
        """Opens the port, which is closed first unless nobody has opened it."""
        self.is_set_up = self.is_reached = False
        if self.is_begun:
            await self.machine.close()
        self.is_begun = True
        await open_()

    async def check(self) -> None:
        """Asks the instrument something, once more where the first answer is none; without a question, whether its port is there."""
        if not self.is_set_up:
            return
        while self.questions:
            before = self.machine.written
            try:
                return await self.ask(self.questions[0])
            except DeviceFailed:
                raise
            except Exception as error:  # noqa: B902: a library raises what it likes
                if not self.is_guessed or self.machine.written > before or not self.machine.is_observed:
                    return await self.ask(self.questions[0])
                # The class refuses the question by itself: this model has no such part.
                print(f"{self.questions.pop(0)} asks nothing: {_words(error)}", file=sys.stderr)
        # The property of a port of pyserial asks the kernel, which knows of a cable that was pulled.
        for port in self.machine.ports:
            getattr(getattr(port, "_ser", None), "in_waiting", None)

    async def ask(self, name: str) -> Any:
        self._must_not_be_halting()
        method = getattr(self.machine.device, name)
        return await self._using(_awaited(method), can_cancel=inspect.iscoroutinefunction(method))

    def _must_not_be_halting(self) -> None:
        if self.ending is not None and not self.ending.done():
            raise Busy("it is being halted", hint="try again in a moment")

    def _begin(self) -> None:
        self._must_not_be_halting()
        # What begins now was not ended by a halt before.
        self.ending = None

    async def halt(self) -> None:
        if not self.halts:
            raise DeviceFailed(f"no method of {self.model} ends what it does", hint="use its red button")
        if self.ending is None:
            self.since = time.monotonic()
            self.ending = asyncio.ensure_future(self._end_all())
            # Where nobody waits for it any more, Python would print what came of it.
            self.ending.add_done_callback(lambda task: task.cancelled() or task.exception())
        await asyncio.wait({self.ending}, timeout=_HALT_S)
        if self.ending.done():
            # The outcome of a halt that took longer is told by the next one: a new one would take as long.
            ended, self.ending = self.ending, None
            return ended.result()
        if time.monotonic() - self.since > _LONGEST_HALT_S:
            _start_again(f"it was not halted within {_LONGEST_HALT_S:g} s")
        raise DeviceFailed(f"it is not halted after {time.monotonic() - self.since:.0f} s, which is still tried", hint="use its red button")

    async def _end_all(self) -> None:
        """Ends motion and heat, alone on the port. Where that fails, a new object opens the port again: it may have been unplugged, or be waited for."""
        await self._cancel()
        failed = ["it is not set up"]
        if self.is_set_up or self.is_reached:
            await self.machine.free_ports()
            failed = await self._call_halts(_FIRST_BYTE_S)
        if failed:
            failed = await self._halt_anew()
        # What cannot be ended, such as a method in a thread, may begin a motion after the halt.
        while not failed and self._running():
            await asyncio.wait(self._running(), timeout=_AGAIN_S)
            failed = await self._call_halts(_FIRST_BYTE_ANEW_S)
        if failed:
            halts = " --halt ".join(_as_words(self.proposed))
            hint = f"use its red button; if it has no such part, name its other halts: --halt {halts}" if self.proposed else "use its red button"
            raise DeviceFailed("; ".join(failed), hint=hint)

    def _running(self) -> Set[Any]:
        return {*_in_threads, *(task for task, _ in self.using if not task.done())}

    async def _halt_anew(self) -> List[str]:
        """Opens the port by a new object, and calls its halts: first the port alone, then all of `setup`. Returns what failed."""
        self.is_set_up = self.is_reached = False
        if _in_threads:
            await asyncio.wait(_in_threads)
        is_new = True
        failed: List[str] = []
        opens: Sequence[Callable[[], Any]] = (self.machine.open_ports, functools.partial(self.machine.set_up, is_quick=True))
        for open_ in opens:
            if self.is_begun:
                await self.machine.close_ports()
                is_new = self.machine.renew()
            self.is_begun = True
            try:
                await open_()
            except (Exception, asyncio.CancelledError) as error:  # noqa: B902: a library raises what it likes
                failed = failed or [f"its port cannot be opened: {_words(error)}; see its cable"]
                self.machine.bar(error)
                continue
            self.is_deaf = False
            failed = await self._call_halts(_FIRST_BYTE_ANEW_S)
            self.is_reached = not failed
            # `setup` does not help where the halts were sent and nothing answers; it would only move the instrument once it is back.
            if self.is_reached or self.is_deaf:
                break
        self.machine.is_barred = False
        if failed and not is_new:
            _start_again(f"{self.model} can be made only once")
        return failed

    async def _call_halts(self, first_byte_s: float) -> List[str]:
        """Calls each halt; one that fails or hangs keeps no other from being called. Returns what failed."""
        failed = []
        is_heard = False
        for name, arguments in self.halts:
            seen: List[str] = []
            call = _noting(seen, _awaited(getattr(self.machine.device, name), **arguments))
            await asyncio.wait({call}, timeout=first_byte_s)
            is_sent = "write" in seen or not self.machine.is_observed
            if is_sent:
                await asyncio.wait({call}, timeout=_ONE_HALT_S)
            if not call.done():
                call.cancel()
                await asyncio.wait({call}, timeout=_CLOSE_S)
                failed.append(f"{name} was not answered within {_ONE_HALT_S:g} s" if is_sent else f"{name} waits, and has sent nothing")
            elif call.cancelled() or call.exception() is not None:
                failed.append(f"{name}: {_words(call.exception() or asyncio.CancelledError()) if not call.cancelled() else 'it was cancelled'}")
            elif not is_sent:
                failed.append(f"{name} has sent nothing")
            is_heard = is_heard or set(seen) > {"write"}
        return failed if failed or is_heard or not self.machine.is_observed else await self._unheard()

    async def _unheard(self) -> List[str]:
        """Asks a question after halts that waited for no answer: their bytes may have gone into a cable that was pulled. Returns what failed."""
        for name in self.questions[:1]:
            seen: List[str] = []
            call = _noting(seen, _awaited(getattr(self.machine.device, name)))
            await asyncio.wait({call}, timeout=_ANSWER_S)
            if call.done() and not call.cancelled() and call.exception() is None:
                return []
            call.cancel()
            await asyncio.wait({call}, timeout=_CLOSE_S)
            # A question that was not even sent, since the class wants its `setup` first, says nothing about the cable.
            if set(seen) == {"write"}:
                self.is_deaf = True
                return [f"its halt was sent, and then {name} was not answered; see its cable"]
        return []

    async def _cancel(self) -> None:
        """Ends what uses the port. A method that is not `async` cannot be ended."""
        cancelled = [task for task, can_cancel in self.using if can_cancel and task.cancel()]
        if cancelled:
            await asyncio.wait(cancelled, timeout=_CLOSE_S)

    def _alone(self, call: Callable[[], Any], operation_id: Optional[str] = None) -> Any:
        halts = self._before.halts

        async def begun() -> Any:
            # A whole halt may have come and gone before the event loop has begun this.
            if self._halts != halts:
                raise Interlock("it was halted before this began", hint="initialize it")
            return await call()

        return super()._alone(begun, operation_id)

    async def _using(self, work: Any, can_cancel: bool) -> Any:
        mine = (asyncio.ensure_future(work), can_cancel)
        self.using = (*self.using, mine)
        try:
            return await mine[0]
        except asyncio.CancelledError:
            raise DeviceFailed("it was halted") from None
        finally:
            self.using = tuple(each for each in self.using if each is not mine)

    async def run(self, method: Callable[..., Any], params: Dict[str, Any]) -> Any:
        self._begin()
        return await self._using(_awaited(method, **params), can_cancel=inspect.iscoroutinefunction(method))

    async def shake_for(self, params: Dict[str, float], duration: float) -> None:
        await _awaited(self.machine.device.start_shaking, **params)
        end = time.monotonic() + duration
        left = duration
        while left > 0:
            await asyncio.sleep(min(left, _LOOK_S))
            left = end - time.monotonic()
            # A cable that was pulled is noticed now, not when it should stop.
            if left > 0:
                await self.check()
        await _awaited(self.machine.device.stop_shaking)


def _start_again(why: str) -> NoReturn:
    """Ends the program. The bench starts it again, and halts its device first of all."""
    print(f"{why}, so its program starts again", file=sys.stderr, flush=True)
    os._exit(1)


#: What runs in threads: each may use a port until it has ended, also where nobody waits for it any more.
_in_threads: Set["asyncio.Future[Any]"] = set()


async def _awaited(method: Callable[..., Any], **params: Any) -> Any:
    """Calls a method of a device. One that is not `async` has a thread of its own: a halt must not wait for it."""
    if inspect.iscoroutinefunction(method):
        return await method(**params)
    context = contextvars.copy_context()
    thread = asyncio.get_running_loop().run_in_executor(None, lambda: context.run(method, **params))
    _in_threads.add(thread)
    thread.add_done_callback(_in_threads.discard)
    result = await asyncio.shield(thread)
    return await result if hasattr(result, "__await__") else result


_USAGE = "python3 benchd_bridge.py pylabrobot CLASS [NAME=VALUE …] [options]"
_EPILOG = """CLASS is package.module.Class, or a function that makes an object. NAME=VALUE are its parameters, as text or JSON; the value may be a class of
PyLabRobot, whose own parameters are NAME.PARAMETER=VALUE. An arm needs --open and --closed."""


def main(words: List[str]) -> None:
    """Makes the bridge that the words describe, and serves it."""
    # Whatever a library prints while it is imported must not come between the messages.
    sys.stdout = sys.stderr
    parser = argparse.ArgumentParser(prog="benchd_bridge.py pylabrobot", usage=_USAGE, epilog=_EPILOG, allow_abbrev=False)
    parser.add_argument("words", nargs="+", metavar="CLASS NAME=VALUE")
    parser.add_argument("--type", help="the type of the device; by default its methods tell it")
    parser.add_argument("--check", metavar="METHOD", help="a method that asks the instrument something and moves nothing")
    parser.add_argument("--halt", metavar="METHODS", action="append", help="the methods that end motion and heat, with commas, or METHOD=JSON; none: nothing ends it")
    parser.add_argument("--seconds", metavar="METHOD=S", action="append", default=[], help="how long a method takes")
    parser.add_argument("--limit", metavar="OPERATION.PARAM=MIN:MAX", action="append", default=[], help="the range of a parameter")
    parser.add_argument("--call", metavar="METHOD=JSON", action="append", default=[], help="a method that is called whenever the object is made")
    parser.add_argument("--open", type=float, metavar="MM", help="the width to which the gripper of an arm opens")
    parser.add_argument("--closed", type=float, metavar="MM", help="the width to which the gripper of an arm closes")
    given = parser.parse_intermixed_args(words)
    try:
        options = Options(
            type=given.type,
            check=given.check,
            halt=None if given.halt is None else [halt for text in given.halt for halt in _halts(text)],
            seconds={name: float(value) for name, value in map(_pair, given.seconds)},
            limits={name: _range(value) for name, value in map(_pair, given.limit)},
            calls=[(name, json.loads(value)) for name, value in map(_pair, given.call)],
        )
        make = _maker(given.words[0], dict(map(_pair, given.words[1:])))
    except ValueError as error:
        parser.error(str(error))
    try:
        device = make()
    except Exception as error:  # noqa: B902: a library raises what it likes
        _give_up(given.words[0], error)
    _bridge_of(device, make, options, given, parser).serve()


def _bridge_of(device: Any, make: Callable[[], Any], options: Options, given: Any, parser: argparse.ArgumentParser) -> Bridge:
    try:
        arm: Optional[Bridge] = importlib.import_module("benchd_bridge_arms").arm_of(device, given.open, given.closed)
        return pylabrobot_bridge(make, options, device) if arm is None else arm
    except ValueError as error:
        parser.error(str(error))


def _give_up(path: str, error: Exception) -> NoReturn:
    # PyLabRobot raises other errors with this text where a library for a port is missing.
    _, _, missing = str(error).partition("No module named ")
    what = "PyLabRobot" if missing.startswith("'pylabrobot") else missing.split("'")[1] if missing else ""
    why = f"is {what} installed for {sys.executable}?" if missing else "see its name and its parameters in PyLabRobot's documentation"
    if what == path.partition(".")[0] or "." not in path:
        why = "give the whole name of the class, such as pylabrobot.qinstruments.BioShake3000"
    if isinstance(error, NotImplementedError):
        kind = _hints(_resolved(path)).get("return")
        why = f"PyLabRobot has not finished it; use its class: {kind.__module__}.{kind.__name__}" if isinstance(kind, type) else "PyLabRobot has not finished it"
    sys.exit(f"{path} cannot be made: {_words(error)}; {why}")


def _halts(text: str) -> List[Halt]:
    """Reads METHOD,METHOD={"param": value},…"""
    found: List[Halt] = []
    while text and text != "none":
        name, is_given, text = re.findall(r"([^,=]*)(=?),?(.*)", text, re.S)[0]
        given, end = json.JSONDecoder().raw_decode(text) if is_given else ({}, 0)
        found.append(Halt(name, given))
        text = text[end:].lstrip(",")
    return found


def _as_words(halts: Sequence[str]) -> List[str]:
    """The words after each `--halt`: those without parameters in one."""
    plain_ones = ",".join(halt for halt in halts if "=" not in halt)
    return [*([plain_ones] if plain_ones else []), *(f"'{halt}'" for halt in halts if "=" in halt)]


def _pair(word: str) -> Tuple[str, str]:
    name, is_pair, value = word.partition("=")
    if not name or not is_pair:
        raise ValueError(f"{word!r} is not NAME=VALUE")
    return name, value


def _range(text: str) -> Tuple[float, float]:
    least, _, largest = text.partition(":")
    return float(least), float(largest)


def _maker(path: str, given: Dict[str, str]) -> Callable[[], Any]:
    """Returns what makes the object of a path, with the parts among its parameters, which are set up before it and ended after it."""

    def make() -> Any:
        function = _resolved(path)
        own = {name: value for name, value in given.items() if "." not in name}
        shapes = _parameters_of(function) if own else {}
        parts = []
        arguments: Dict[str, Any] = {}
        for name, text in own.items():
            types = shapes[name].schema["type"] if name in shapes else "object"
            # A parameter that takes anything may be text with dots.
            is_part = types == "object" or ("object" in types and text.startswith("pylabrobot."))
            if is_part and re.fullmatch(r"[a-z]\w*(\.\w+)*\.[A-Za-z]\w*", text):
                inner = {each[len(name) + 1 :]: value for each, value in given.items() if each.startswith(f"{name}.")}
                arguments[name] = _maker(text, inner)()
                parts.append(arguments[name])
            else:
                arguments[name] = _argument(shapes.get(name), name, text)
        device = function(**{**_geometry(function, arguments), **arguments})
        # The front of a legacy device passes on what its backend does, and less of it.
        back: Any = getattr(device, "backend", None)
        device = back if callable(getattr(back, "setup", None)) else device
        if parts:
            device.__benchd_parts__ = parts
        return device

    return make


def _geometry(function: Any, given: Dict[str, Any]) -> Dict[str, Any]:
    """Parameters that only a deck needs: a bench knows no deck, so a device of the new style has no size there."""
    needs = [each for each in inspect.signature(function).parameters.values() if each.default is each.empty and each.name not in given]
    sizes = {each.name: 0.0 for each in needs if re.fullmatch(r"(\w+_)?size_[xyz]", each.name)}
    names = {each.name: "device" for each in needs if each.name == "name"}
    places = {each.name: importlib.import_module("pylabrobot.resources").Coordinate() for each in needs if each.name == "child_location"}
    return {**sizes, **names, **places}


def _parameters_of(function: Any) -> Dict[str, Shape]:
    """The parameters of a class or a function that can come from words; others are objects, or have their defaults."""
    is_class = isinstance(function, type)
    try:
        return Params(getattr(function, "__init__") if is_class else function, function, not is_class, is_lenient=True).shapes
    except ValueError:
        return {}


def _resolved(path: str) -> Any:
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


def _argument(shape: Optional[Shape], name: str, text: str) -> Any:
    """A parameter of a class: JSON where the class takes what is written, else text."""
    reasons = []
    for value in (*_json(text), text):
        try:
            return value if shape is None else labware.resolved(shape.make(value))
        except (TypeError, ValueError) as error:
            reasons.append(str(error))
    raise ValueError(f"{name}: {reasons[-1]}")


def _json(text: str) -> Sequence[Any]:
    try:
        return (json.loads(text),)
    except ValueError:
        return ()
