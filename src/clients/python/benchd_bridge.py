"""A program as a device of the bench: https://<bench>/clients/benchd_bridge.py, one file, Python 3.9 or later, nothing to install.

    from benchd_bridge import Bridge, Interlock, operation

    class Reader(Bridge):
        type = "reader"
        model = "Example 96"

        def initialize(self):
            self.port = open_the_instrument()

        @operation(seconds=40, units={"wavelength": "nm"}, minimum={"wavelength": 230}, maximum={"wavelength": 1000})
        def read(self, wavelength: int = 600) -> dict:
            if self.port.door_is_open():
                raise Interlock("the door is open", hint="close it")
            return {"absorbance": self.port.read(wavelength)}

        def halt(self):
            self.port.stop()

    Reader().serve()

A method with @operation is an operation of the device; its annotations say what its parameters are (int, float, str, bool, Literal), and it
may be `async`. What it returns is the `data` of the answer; `self.attach("export.csv")` gives a file with it. `halt` is called at any moment, beside the operation that runs, and must end all
motion and heat; `initialize` is not called until `halt` has succeeded. Everything that is printed goes to standard error.

    python3 benchd_bridge.py pylabrobot pylabrobot.heating_shaking.InhecoThermoShake device_index=0 --seconds spin=600

does the same for a backend of PyLabRobot: its methods become operations.
"""

# Whoever checks a program with types checks this file too: what the bench answers is JSON.
# mypy: disable-error-code="no-any-return"
# pyright: basic

from __future__ import annotations

import asyncio
import base64
import functools
import importlib
import inspect
import json
import math
import os
import re
import sys
import threading
import time
import traceback
import types
import typing
from concurrent.futures import Future
from typing import Any, Callable, Dict, Iterator, List, Literal, Optional, Set, Tuple, TypedDict, TypeVar, Union

__all__ = [
    "Access",
    "Bridge",
    "Busy",
    "DeviceFailed",
    "Interlock",
    "Invalid",
    "Labware",
    "Point",
    "Spot",
    "Transporter",
    "Where",
    "operation",
    "reading",
]


class DeviceFailed(Exception):
    """The instrument failed. `hint` says what a person does about it."""

    reason = "device_failed"

    def __init__(self, message: str, hint: Optional[str] = None):
        super().__init__(message)
        self.hint = hint


class Interlock(DeviceFailed):
    """Refused, and nothing was done, because of how the instrument is: a door is open, a plate is missing."""

    reason = "interlock"


class Invalid(DeviceFailed):
    """Refused, and nothing was done, because the instrument cannot take these parameters."""

    reason = "invalid"


class Busy(DeviceFailed):
    """Refused, and nothing was done, because the instrument does something else."""

    reason = "busy"


Seconds = Union[float, Tuple[str, float]]
_Method = TypeVar("_Method", bound=Callable[..., Any])


def operation(
    seconds: Seconds,
    margin: float = 30,
    leaves_on: Optional[str] = "motion",
    can_end_early: bool = False,
    labware_sites: Optional[int] = None,
    units: Optional[Dict[str, str]] = None,
    minimum: Optional[Dict[str, float]] = None,
    maximum: Optional[Dict[str, float]] = None,
) -> Callable[[_Method], _Method]:
    """Makes a method an operation of the device.

    `seconds` is how long it takes: a number, or ("duration", 10) for the parameter `duration` and 10 s on top. After `margin` more the bench
    gives it up and halts the device. `leaves_on` ("motion", "heat" or None) is what goes on by itself if this program ends.
    """

    def mark(method: _Method) -> _Method:
        method.__bridge__ = {  # type: ignore[attr-defined]
            "summary": _summary(method),
            "params": _schema(method, units or {}, minimum or {}, maximum or {}),
            "seconds": seconds if isinstance(seconds, (int, float)) else {"param": seconds[0], "plus": seconds[1]},
            "margin_s": margin,
            "leaves_on": leaves_on,
            "can_end_early": can_end_early,
            **({} if labware_sites is None else {"labware_sites": labware_sites}),
        }
        return method

    return mark


def reading(unit: str) -> Callable[[_Method], _Method]:
    """Makes a method a reading of the device, whose value is a number in `unit`; a pair with the target where there is one."""

    def mark(method: _Method) -> _Method:
        method.__reading__ = unit  # type: ignore[attr-defined]
        return method

    return mark


def _summary(method: Callable[..., Any]) -> str:
    return (inspect.getdoc(method) or "").split("\n")[0][:200]


class Bridge:
    """Base of a bridge: set `type` as in the configuration of the bench, give methods an @operation, and call `serve()`."""

    type = "instrument"
    model = "unknown"
    serial_number: Optional[str] = None
    firmware_version: Optional[str] = None
    #: False where no method ends what the instrument does: its card says so, and a stop waits for what is under way.
    can_halt = True
    #: The id of the operation that runs.
    operation_id: Optional[str] = None

    def initialize(self) -> Any:
        """Brings the instrument to where it takes commands. May move it."""

    def check(self) -> Any:
        """Asks the instrument something, and raises when it does not answer or is not well. Moves nothing."""

    def halt(self) -> Any:
        """Ends motion and heat, at any moment, and returns when it has seen that. Raises when it has not. Opens the port again where that was lost.

        It never runs twice at once: a stop that comes meanwhile has the same answer.
        """
        raise DeviceFailed("its program cannot halt it", hint="use its red button")

    def end(self, operation_id: str) -> Any:
        """Ends the operation that runs in an orderly way; returns the seconds that were left."""
        raise Invalid("it cannot end an operation early")

    # def temperature(self): a reading in °C; a pair with the target where there is one. Other readings are methods with @reading("mbar").

    def progress(self, fraction: Optional[float] = None, message: Optional[str] = None) -> None:
        """Tells the bench how far the operation is that runs; `fraction` is from 0 to 1."""
        if self.operation_id is not None:
            params = {"operation_id": self.operation_id, "fraction": fraction, "message": message}
            self._say(b'{"jsonrpc":"2.0","method":"progress","params":%b}\n' % _encode(params).encode())

    def attach(self, content: Union[str, "os.PathLike[str]", bytes], name: Optional[str] = None, media_type: Optional[str] = None, note: Optional[str] = None) -> None:
        """Gives a file with the result of the operation that runs: a path, or bytes with a `name`. In a run the bench keeps it with the labware.

        The bench reads it when the method has returned, so it must stay until the next operation begins. At most 16 files of 64 MiB.
        """
        if self.operation_id is None:
            raise RuntimeError("attach() is for a method with @operation, while it runs")
        if isinstance(content, bytes) and name is None:
            raise ValueError("bytes have no name; give one: attach(content, name='plate.csv')")
        size = len(content) if isinstance(content, bytes) else os.path.getsize(content)
        about = {"name": name or os.path.basename(os.fspath(content)), "bytes": size, "media_type": media_type, "note": note}
        self._attached.append((content, about))

    def describe(self) -> Dict[str, Any]:
        operations = {name: getattr(self, name).__bridge__ for name in sorted(dir(type(self))) if hasattr(getattr(type(self), name), "__bridge__")}
        return {
            "protocol": 1,
            "type": self.type,
            "model": self.model,
            "identity": {"serial_number": self.serial_number, "firmware_version": self.firmware_version},
            "operations": operations,
            **({} if self.can_halt else {"halt": "none"}),
            "readings": self._readings(),
        }

    def serve(self) -> None:
        """Answers the bench on standard input and output until that ends."""
        self._lines = _lines_of(os.dup(0))
        # Whatever a library prints must not come between the messages.
        self._out = os.dup(1)
        os.dup2(2, 1)
        self._writing, self._moving, self._looping, self._halting = (threading.Lock() for _ in range(4))
        #: The halt that is under way.
        self._halt: Optional[Future[None]] = None
        #: How many halts have come; and, by the thread that answers a question, how many had come before that question.
        self._halts = 0
        self._before = threading.local()
        self._loop: Optional[asyncio.AbstractEventLoop] = None
        #: Released by a question, and taken by the thread that stands by.
        self._asked = threading.Lock()
        self._turn = _Turn()
        self._attached: List[Tuple[Any, Dict[str, Any]]] = []
        self._attached_to: Optional[str] = None
        self._read_by_name = {name: getattr(self, name) for name in self._readings()}
        self._known: Dict[bytes, Callable[[], bytes]] = {}
        self._asked.acquire()
        threading.Thread(target=self._stand_by, daemon=True).start()
        self._read()
        threading.Event().wait()

    def _read(self) -> None:
        """Reads and answers until another thread has taken its turn: to hand each question to a thread takes longer than most answers."""
        turn = self._turn
        for line in self._lines:
            turn.steps += 1
            self._before.halts = self._halts
            turn.answering.append(None)
            if self._asked.locked():
                self._asked.release()
            self._answer(line)
            if not turn.take():
                return
        # The bench has gone. What still runs here is not waited for.
        os._exit(0)

    def _stand_by(self) -> None:
        """Waits until an answer takes longer than a moment, and reads on in the place of the thread that makes it: a halt is always read."""
        while True:
            self._asked.acquire()
            turn, steps = self._turn, self._turn.steps
            time.sleep(0.003)
            if turn.steps == steps and turn.take():
                break
        self._turn = _Turn()
        threading.Thread(target=self._stand_by, daemon=True).start()
        self._read()

    def _answer(self, line: bytes) -> None:
        id_, _, rest = line[_AT_ID:].partition(b",")
        result = self._known.get(rest)
        if result is None or not id_.isdigit() or not line.startswith(_BEFORE_ID):
            try:
                id_, result = self._question_in(line)
            except Exception as error:  # Bytes that are no text, text that is no JSON, and JSON that is no request.
                self._say(_BEFORE_ID + b'null,"error":' + _encode(_no_request(error)).encode() + b"}\n")
                return
        try:
            answer = b'"result":' + result()
        except DeviceFailed as error:
            answer = _failure(str(error), error.reason, error.hint)
        except BaseException as error:  # noqa: B902: whatever a library raises is an answer, too
            traceback.print_exc()
            answer = _failure(_words(error), "device_failed", None)
        self._say(_BEFORE_ID + id_ + b"," + answer + b"}\n")

    def _question_in(self, line: bytes) -> Tuple[bytes, Callable[[], bytes]]:
        """Returns the id, and what makes the result. Questions for a reading are the same but for their ids, and are decoded once."""
        message = _decode(line.decode())[0]
        id_, method, params = b"%d" % message["id"], message["method"], message.get("params") or {}
        if method != "read":
            return id_, lambda: _encode(self._carry_out(method, params)).encode()
        result = functools.partial(self._reading_of, params)
        before = _BEFORE_ID + id_ + b","
        if len(self._known) < _MOST_KNOWN and line.startswith(before):
            self._known[line[len(before) :]] = result
        return id_, result

    def _carry_out(self, method: str, params: Dict[str, Any]) -> Any:
        if method == "perform":
            return self._perform(params)
        if method == "describe":
            return self.describe()
        if method == "end":
            return {"seconds_left": self._done(self.end(params["operation_id"])) or 0}
        if method == "initialize":
            self._alone(self.initialize)
            return {}
        if method == "check":
            self._done(self.check())
            return {}
        if method == "halt":
            self._halt_once()
            return {}
        if method == "file":
            return self._piece(params)
        raise Invalid(f"there is no method {method}")

    def _halt_once(self) -> None:
        """Halts it, or waits for the halt that is under way: two that open the port would be in each other's way."""
        with self._halting:
            self._halts += 1
            is_mine = self._halt is None
            halt: Future[None] = self._halt or Future()
            self._halt = halt
        if is_mine:
            try:
                self._done(self.halt())
                outcome: Optional[BaseException] = None
            except BaseException as error:  # noqa: B902: each caller that waits gets this error too
                outcome = error
            with self._halting:
                self._halt = None
            if outcome is None:
                halt.set_result(None)
            else:
                halt.set_exception(outcome)
        halt.result()

    def _readings(self) -> Dict[str, Dict[str, str]]:
        marked = {name: getattr(type(self), name) for name in sorted(dir(type(self))) if hasattr(getattr(type(self), name), "__reading__")}
        told = {"temperature": {"unit": "°C"}} if hasattr(self, "temperature") else {}
        return {**told, **{name: {"unit": method.__reading__} for name, method in marked.items()}}

    def _reading_of(self, params: Dict[str, Any]) -> bytes:
        """Returns the answer to `read` as JSON."""
        reading = params["reading"]
        if reading not in self._read_by_name:
            raise Invalid(f"there is no reading {reading}")
        value = self._read_by_name[reading]()
        # Most readings are plain numbers, and writing such an answer by hand takes a quarter of the time.
        if type(value) is float and math.isfinite(value):
            return b'{"value":%a,"target":null}' % value
        value = self._done(value)
        value, target = value if isinstance(value, tuple) else (value, None)
        return _encode({"value": value, "target": target}).encode()

    def _perform(self, params: Dict[str, Any]) -> Dict[str, Any]:
        method: Any = getattr(self, params["operation"], None)
        if not hasattr(method, "__bridge__"):
            raise Invalid(f"there is no operation {params['operation']}")

        def call() -> Any:
            self._attached, self._attached_to = [], params["operation_id"]
            return method(**params["params"])

        data = self._alone(call, params["operation_id"])
        files = [about for _, about in self._attached] if self._attached_to == params["operation_id"] else []
        return {"data": data, **({"files": files} if files else {})}

    def _piece(self, params: Dict[str, Any]) -> Dict[str, str]:
        """The piece of an attached file that begins at an offset."""
        if params["operation_id"] != self._attached_to or params["file"] >= len(self._attached):
            raise Invalid("there is no such file any more: another operation has begun")
        content, offset = self._attached[params["file"]][0], params["offset"]
        if isinstance(content, bytes):
            piece = content[offset : offset + _PIECE_BYTES]
        else:
            with open(content, "rb") as file:
                file.seek(offset)
                piece = file.read(_PIECE_BYTES)
        return {"base64": base64.b64encode(piece).decode()}

    def _alone(self, call: Callable[[], Any], operation_id: Optional[str] = None) -> Any:
        # What was halted ends in its own thread, a moment after the halt was answered.
        if not self._moving.acquire(timeout=2):
            raise Busy("what was halted before has not ended yet", hint="try again in a moment")
        try:
            if self._halts != self._before.halts:
                raise Interlock("it was halted before this began", hint="initialize it")
            self.operation_id = operation_id
            return self._done(call())
        finally:
            self.operation_id = None
            self._moving.release()

    def _done(self, result: Any) -> Any:
        """Waits for what an `async` method does."""
        if not hasattr(result, "__await__"):
            return result

        async def wait() -> Any:
            return await result

        return asyncio.run_coroutine_threadsafe(wait(), self._event_loop()).result()

    def _event_loop(self) -> asyncio.AbstractEventLoop:
        """Returns the one event loop of all `async` methods, which runs in a thread of its own."""
        with self._looping:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=self._loop.run_forever, daemon=True).start()
            return self._loop

    def _say(self, line: bytes) -> None:
        with self._writing:
            sent = os.write(self._out, line)
            while sent < len(line):
                sent += os.write(self._out, line[sent:])


class Labware(TypedDict):
    """The labware that is carried, with its type in the workflow."""

    name: str
    type: str
    barcode: Optional[str]


class Spot(TypedDict):
    """A taught point. `coords` are x, y, z in mm and yaw, pitch, roll in degrees; or, in joint coordinates, base, shoulder, elbow, wrist, rail and gripper."""

    name: str
    coord_type: Literal["cartesian", "joint"]
    coords: Dict[str, float]
    elbow: Optional[Literal["left", "right"]]


class Access(TypedDict):
    """How the arm comes to a point and leaves it, in mm. For a length that is None the arm takes its own."""

    access_type: Literal["vertical", "horizontal"]
    vertical_clearance: Optional[float]
    horizontal_clearance: Optional[float]
    gripper_offset: Optional[float]


class Point(Spot):
    """The point of a pick or place. The arm passes the gateways in this order on its way there, and in the opposite order when it leaves."""

    access: Optional[Access]
    gateways: List[Spot]


class _Where(TypedDict):
    state: Literal["idle", "moving", "unhomed", "stopped", "error"]
    gripper: Optional[Literal["empty", "full"]]


class Where(_Where, total=False):
    """Where an arm is. `gripper` is None where nobody knows it; `pose` are the x, y, z, yaw, pitch and roll of a teachpoint, if they are known."""

    pose: Optional[Dict[str, float]]


class Transporter(Bridge):
    """Base of a bridge that carries labware. A run calls `pick` and `place`; a person calls `home` by `initialize`.

    `pick` and `place` return when the labware is gripped, or let go, and the gripper is clear of the place. Meanwhile the bench calls `where` every
    second, in another thread. Afterwards `where` must say that the arm is idle, and that its gripper is full or empty. The methods may be `async`.
    """

    type = "transporter"
    #: "taught": the arm goes to the teachpoints of the bench. "own": the program knows each position by its name, and `point` is None.
    points: Literal["taught", "own"] = "taught"
    #: What the moves obey besides a pose: "gateway", "access", "elbow", "joint". A topology whose points need anything else is refused.
    skills: Tuple[Literal["gateway", "access", "elbow", "joint"], ...] = ()
    #: The axes of `jog`: x, y, z, yaw, pitch, roll, base, shoulder, elbow, wrist, rail.
    jog_axes: Tuple[str, ...] = ("x", "y", "z")

    def home(self) -> Any:
        """Opens the port and makes the arm ready for moves. May move it. Is not called while `where` says that it moves."""
        raise NotImplementedError

    def pick(self, labware: Labware, position: str, point: Any) -> Any:
        """Takes the labware up. `point` is a `Point`, or None with `points = "own"`. Raises `Interlock` or `Invalid` only if nothing has moved."""
        raise NotImplementedError

    def place(self, labware: Labware, position: str, point: Any) -> Any:
        """Sets the labware down, as `pick` takes it up."""
        raise NotImplementedError

    def where(self) -> Any:
        """Returns a `Where`: asks the arm, and moves nothing. Is called at any moment; before `home` it may say "unhomed" without asking."""
        raise NotImplementedError

    # Movements that a person leads; each is offered if the method exists. `speed` is a percentage, at most 20. A `halt` ends them, and ends free drive, too.
    #
    # def jog(self, axis, by, speed): moves by at most 2 mm or 1° along one of `jog_axes`, and returns when the arm stands. The bench calls it again while
    #     a person holds the button. Raises `Invalid` where the axis ends, if nothing has moved.
    # def free_drive(self, on): lets a person lead the arm by hand, or ends that. Define it only if no axis falls meanwhile.
    # def go_to(self, position, point, offset_z, speed): goes `offset_z` mm above a point, by its gateways and its access pattern, and returns when it stands.

    def initialize(self) -> Any:
        return self.home()

    def describe(self) -> Dict[str, Any]:
        jog = {"jog": list(self.jog_axes)} if hasattr(self, "jog") else {}
        others = {name: True for name in ("free_drive", "go_to") if hasattr(self, name)}
        return {**super().describe(), "points": self.points, "skills": list(self.skills), **jog, **others}

    def _carry_out(self, method: str, params: Dict[str, Any]) -> Any:
        if method == "where":
            return self._done(self.where())
        if method in ("pick", "place"):
            move = self.pick if method == "pick" else self.place
            self._alone(lambda: move(params["labware"], params["position"], params["point"]))
            return {}
        if method in ("jog", "free_drive", "go_to") and hasattr(self, method):
            self._alone(lambda: getattr(self, method)(**params))
            return {}
        return super()._carry_out(method, params)


class _Turn:
    """The turn of a thread at reading: two threads must not read at once."""

    def __init__(self) -> None:
        #: The number of questions that have come.
        self.steps = 0
        #: Holds something while an answer is being made. The one who takes it away reads on: the thread that answered, or another.
        self.answering: List[None] = []

    def take(self) -> bool:
        """Returns whether the caller reads on. In Python taking from a list is one step, whatever other threads do."""
        try:
            self.answering.pop()
        except IndexError:
            return False
        return True


#: How the bench begins a question.
_BEFORE_ID = b'{"jsonrpc":"2.0","id":'
_AT_ID = len(_BEFORE_ID)
_MOST_KNOWN = 100
#: A piece of an attached file, whose line must be shorter than 1 MiB.
_PIECE_BYTES = 512 * 1024


def _lines_of(descriptor: int) -> Iterator[bytes]:
    """Yields the lines as they come; only one thread at a time may ask for the next. A file object takes several times as long for a short line."""
    begun = b""
    while True:
        piece = os.read(descriptor, 65536)
        if not piece:
            return
        lines = (begun + piece).split(b"\n")
        begun = lines.pop()
        yield from lines


_decode = json.JSONDecoder().raw_decode
_encode = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode


def _no_request(error: Exception) -> Dict[str, Any]:
    return {"code": -32700 if isinstance(error, ValueError) else -32600, "message": f"this line is no request: {type(error).__name__}: {error}"}


def _failure(message: str, reason: str, hint: Optional[str]) -> bytes:
    return b'"error":' + _encode({"code": -32000, "message": message, "data": {"reason": reason, "hint": hint}}).encode()


_NAMES = {"int": int, "float": float, "str": str, "bool": bool}
_TYPES = {int: "integer", float: "number", str: "string", bool: "boolean"}


def _schema(method: Callable[..., Any], units: Dict[str, str], minimum: Dict[str, float], maximum: Dict[str, float]) -> Dict[str, Any]:
    try:
        hints = typing.get_type_hints(method)
    except NameError:
        hints = {}
    properties: Dict[str, Any] = {}
    required = []
    for name, parameter in list(inspect.signature(method).parameters.items())[1:]:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        properties[name] = _property(method, name, hints.get(name, parameter.annotation))
        extra: Tuple[Tuple[str, Dict[str, Any]], ...] = (("unit", units), ("minimum", minimum), ("maximum", maximum))
        properties[name].update({word: values[name] for word, values in extra if name in values})
        if parameter.default is inspect.Parameter.empty:
            required.append(name)
            if properties[name]["type"] in ("number", "integer") and _is_optional(hints.get(name)):
                properties[name]["type"] = [properties[name]["type"], "null"]
        elif parameter.default is not None:
            properties[name]["default"] = parameter.default
    return {"type": "object", "properties": properties, "required": required}


def _is_optional(annotation: Any) -> bool:
    return typing.get_origin(annotation) in (Union, getattr(types, "UnionType", Union)) and type(None) in typing.get_args(annotation)


def _property(method: Callable[..., Any], name: str, annotation: Any) -> Dict[str, Any]:
    choices = typing.get_args(annotation)
    if typing.get_origin(annotation) is typing.Literal:
        return {"type": _TYPES[type(choices[0])], "enum": list(choices)}
    annotation = _NAMES.get(annotation, annotation) if isinstance(annotation, str) else annotation
    if typing.get_origin(annotation) in (Union, getattr(types, "UnionType", Union)):
        [annotation] = [choice for choice in choices if choice is not type(None)] if len(choices) == 2 else [annotation]
    if annotation in _TYPES:
        return {"type": _TYPES[annotation]}
    raise TypeError(f"{method.__name__}: the parameter {name} must be annotated with int, float, str, bool or Literal, not {annotation}")


# PyLabRobot: https://docs.pylabrobot.org. By the interface that a backend implements: the type of the device, and the methods that end what it
# does. `stop` is never among them: it closes the port, and the instrument goes on. An interface without methods has nothing that could end it.
_INTERFACES: Dict[str, Tuple[str, Tuple[str, ...]]] = {
    "HeaterShakerBackend": ("shaker", ("stop_shaking", "deactivate")),
    "ShakerBackend": ("shaker", ("stop_shaking",)),
    "TemperatureControllerBackend": ("temperature_controller", ("deactivate",)),
    "CentrifugeBackend": ("centrifuge", ("stop_spin",)),
    "ThermocyclerBackend": ("thermal_cycler", ("deactivate_block", "deactivate_lid")),
    "IncubatorBackend": ("incubator", ("stop_shaking",)),
    "PumpBackend": ("pump", ("halt",)),
    "PumpArrayBackend": ("pump", ("halt",)),
    "FanBackend": ("fan", ("turn_off",)),
    "SealerBackend": ("sealer", ()),
    "PeelerBackend": ("peeler", ()),
    "PlateReaderBackend": ("reader", ()),
    "LiquidHandlerBackend": ("liquid_handler", ()),
    "ScaleBackend": ("scale", ()),
    "TilterBackend": ("tilter", ()),
}
#: Operations of every bench, with the parameters that they take there: a method of that name with others gets another name.
_OF_EVERY_BENCH = {
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
#: Not operations: what the bench asks in another way, and what only Python needs.
_NOT_OPERATIONS = {"setup", "stop", "serialize", "deserialize", "get_temperature", "get_current_temperature"}
_TAKEN = {"halt", "initialize", "initialized", "pose", "check", "describe", "perform", "end"}
#: PyLabRobot does not say how long a method takes.
_USUAL_S, _MARGIN_S = 60, 540
_MOST_OPERATIONS = 60
#: A halt is answered within this time, and goes on if it takes longer. The bench ends a program that has not answered after 5 s (`halt_s`).
_HALT_S = 4.0
#: A halt that takes longer than this does not come to an end: the program ends, and is started again.
_LONGEST_HALT_S = 60.0
#: Between two questions to an instrument that shakes.
_LOOK_S = 2.0


def pylabrobot_bridge(
    backend: Any, seconds: Optional[Dict[str, float]] = None, type_: Optional[str] = None, check: Optional[str] = None
) -> Bridge:
    """Makes a bridge of a backend of PyLabRobot. `seconds` says by method how long it takes, where that is not a parameter `duration`.

    `check` names a method without parameters that asks the instrument something and moves nothing; by default that of its temperature.
    """
    names = [each.__name__ for each in type(backend).__mro__]
    interfaces = [_INTERFACES[name] for name in names if name in _INTERFACES]
    halts = list(dict.fromkeys(name for _, methods in interfaces for name in methods if callable(getattr(backend, name, None))))
    members: Dict[str, Any] = {
        "type": type_ or next((word for word, _ in interfaces), "instrument"),
        "model": type(backend).__name__,
        "can_halt": bool(halts),
        **_operations_of(backend, seconds or {}, halts),
    }
    thermometer = next((name for name in ("get_current_temperature", "get_temperature") if callable(getattr(backend, name, None))), None)
    if thermometer is not None:
        members["temperature"] = lambda self: self.ask(thermometer)
    if check is not None and not callable(getattr(backend, check, None)):
        raise ValueError(f"it has no method {check}")
    bridge = type("PyLabRobot", (_PyLabRobot,), members)()
    bridge.backend, bridge.halts, bridge.question = backend, halts, check or thermometer
    if bridge.question is None:
        print(f"{bridge.model}: nothing asks how it is; name a method that moves nothing: --check METHOD", file=sys.stderr)
    return bridge


class _PyLabRobot(Bridge):
    backend: Any
    halts: Any = ()
    #: The method that asks the instrument something.
    question: Optional[str] = None
    #: Whether `setup` was called since `stop`, and whether it has come to its end.
    is_begun = False
    is_set_up = False
    #: What uses the port: operations, questions and `initialize`, which a halt ends or waits for before it opens the port again.
    using: Any = ()
    #: The halt that is under way, and when it began.
    ending: Any = None
    since = 0.0

    async def initialize(self) -> None:
        # Closing the port and opening it again is how a backend starts over.
        self._must_not_be_halting()
        await self._using(self._open_anew(), can_cancel=True)

    async def _open_anew(self) -> None:
        """Opens the port, which is closed first unless nobody has opened it. One that is gone cannot even be closed."""
        self.is_set_up = False
        if self.is_begun:
            try:
                await _awaited(self.backend.stop)
            except Exception as error:  # noqa: B902: a library raises what it likes
                print(f"stop: {_words(error)}", file=sys.stderr)
        self.is_begun = True
        await _awaited(self.backend.setup)
        self.is_set_up = True

    async def check(self) -> None:
        """Asks the instrument something, once more where the first answer is none; without a question, whether its port is there."""
        if not self.is_set_up:
            return
        if self.question is None:
            # The property of a port of pyserial asks the kernel, which knows of a cable that was pulled.
            getattr(getattr(getattr(self.backend, "io", None), "_ser", None), "in_waiting", None)
            return
        try:
            await self.ask(self.question)
        except DeviceFailed:
            raise
        except Exception:  # noqa: B902: a library raises what it likes
            await self.ask(self.question)

    async def ask(self, name: str) -> Any:
        self._must_not_be_halting()
        method = getattr(self.backend, name)
        return await self._using(_awaited(method), can_cancel=inspect.iscoroutinefunction(method))

    def _must_not_be_halting(self) -> None:
        if self.ending is not None and not self.ending.done():
            raise Busy("it is being halted", hint="try again in a moment")

    async def halt(self) -> None:
        if not self.halts:
            raise DeviceFailed(f"no method of {self.model} ends what it does", hint="use its red button")
        if self.ending is None or self.ending.done():
            self.since = time.monotonic()
            self.ending = asyncio.ensure_future(self._end_all())
            # Where nobody waits for it any more, Python would print what came of it.
            self.ending.add_done_callback(lambda task: task.cancelled() or task.exception())
        await asyncio.wait({self.ending}, timeout=_HALT_S)
        if self.ending.done():
            return self.ending.result()
        if time.monotonic() - self.since > _LONGEST_HALT_S:
            print(f"it was not halted within {_LONGEST_HALT_S:g} s, so its program starts again", file=sys.stderr, flush=True)
            os._exit(1)
        raise DeviceFailed(f"it is not halted after {time.monotonic() - self.since:.0f} s, which is still tried", hint="use its red button")

    async def _end_all(self) -> None:
        """Ends motion and heat. Where that fails, or its port is not open, the port is opened again: it may have been unplugged."""
        failed = await self._call_halts() if self.is_set_up else ["it is not set up"]
        await self._cancel()
        if not failed:
            return
        if _in_threads:
            await asyncio.wait(_in_threads)
        try:
            await self._open_anew()
        except Exception as error:  # noqa: B902: a library raises what it likes
            raise DeviceFailed(f"its port cannot be opened: {_words(error)}", hint="see its cable, or use its red button") from error
        failed = await self._call_halts()
        if failed:
            raise DeviceFailed("; ".join(failed), hint="use its red button")

    async def _call_halts(self) -> List[str]:
        failed = []
        for name in self.halts:
            try:
                await _awaited(getattr(self.backend, name))
            except Exception as error:  # noqa: B902: the others end what they can
                failed.append(f"{name}: {_words(error)}")
        return failed

    async def _cancel(self) -> None:
        """Ends what uses the port. A method that is not `async` cannot be ended."""
        cancelled = [task for task, can_cancel in self.using if can_cancel and task.cancel()]
        if cancelled:
            await asyncio.wait(cancelled)

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
        self._must_not_be_halting()
        return _plain(await self._using(_awaited(method, **params), can_cancel=inspect.iscoroutinefunction(method)))

    async def shake_for(self, speed: float, duration: float) -> None:
        await _awaited(self.backend.start_shaking, speed=speed)
        end = time.monotonic() + duration
        left = duration
        while left > 0:
            await asyncio.sleep(min(left, _LOOK_S))
            left = end - time.monotonic()
            # A cable that was pulled is noticed now, not when it should stop.
            if left > 0:
                await self.check()
        await _awaited(self.backend.stop_shaking)


class _PreciseFlex(Transporter):
    """PyLabRobot's PreciseFlex (`pylabrobot.brooks.precise_flex`) as a transporter.

    It moves by `move_to_location` and `move_to_joint_position`, whose controller hears `halt` during a motion. PyLabRobot's own pick and place are one command
    each, and the controller is not known to hear anything before their end. The gripper ends what it does: its command is short and force-limited.
    """

    type = "transporter"
    model = "PreciseFlex"
    skills = ("gateway", "access", "elbow", "joint")
    jog_axes = ("x", "y", "z", "yaw", "base", "shoulder", "elbow", "wrist")

    def __init__(self, arm: Any, open_mm: float, closed_mm: float) -> None:
        self.arm, self.open_mm, self.closed_mm = arm, open_mm, closed_mm
        self.is_connected = self.is_homed = self.is_halted = self.is_free = False
        #: Whether the gripper was closed on something, or opened; None while nobody knows it.
        self.is_gripping: Optional[bool] = None
        self.moves = 0
        self.tasks: Set[Any] = set()
        self.line: Optional[asyncio.Lock] = None
        self.send_command = arm.send_command
        arm.send_command = self._send

    async def _send(self, command: str) -> str:
        """Sends a command when the answer to the last has come: PyLabRobot takes the next line for the answer, whatever it was asked."""
        self.line = self.line or asyncio.Lock()
        async with self.line:
            return await self.send_command(command)

    async def _working(self, work: Any, is_move: bool = False) -> Any:
        """Waits for work that a halt cancels."""
        task = asyncio.ensure_future(work)
        self.tasks.add(task)
        self.moves += is_move
        try:
            return await task
        except asyncio.CancelledError:
            raise DeviceFailed("it was halted", hint="see where the labware is, then initialize") from None
        finally:
            self.moves -= is_move
            self.tasks.discard(task)

    async def home(self) -> None:
        await self._working(self._home(), is_move=True)

    async def _home(self) -> None:
        self.is_homed = self.is_halted = self.is_connected = False
        await self.arm.io.stop()
        # Homing begins in here, and a halt must find the connection.
        self.is_connected = True
        await self.arm.setup()
        self.is_homed = True

    async def pick(self, labware: Labware, position: str, point: Point) -> None:
        if self.is_gripping is None and not await self.arm.is_gripper_closed():
            raise Interlock("nobody knows whether its gripper holds something", hint="look, and perform open_gripper")
        _must_be_reachable(point)
        await self._working(self._pick(point), is_move=True)

    async def _pick(self, point: Point) -> None:
        await self._grip(False)
        await self._visit(point, True)

    async def place(self, labware: Labware, position: str, point: Point) -> None:
        _must_be_reachable(point)
        await self._working(self._visit(point, False), is_move=True)

    @operation(seconds=5, leaves_on=None)
    async def open_gripper(self) -> None:
        """Open the gripper, which lets fall what it holds"""
        await self._working(self._grip(False), is_move=True)

    async def jog(self, axis: str, by: float, speed: float) -> None:
        await self._working(self._jog(axis, by, speed), is_move=True)

    async def _jog(self, axis: str, by: float, speed: float) -> None:
        joints = await self.arm.request_joint_position()
        number = _JOINTS.get(axis)
        try:
            if number is not None:
                await self.arm.move_to_joint_position({**{each: joints[each] for each in (1, 2, 3, 4)}, number: joints[number] + by}, speed_pct=speed)
            else:
                pose = await self.arm.request_gripper_pose()
                at = {"x": pose.location.x, "y": pose.location.y, "z": pose.location.z, "yaw": pose.rotation.z}
                at[axis] += by
                coordinate = importlib.import_module("pylabrobot.resources").Coordinate
                await self.arm.move_to_location(coordinate(at["x"], at["y"], at["z"]), at["yaw"], speed_pct=speed)
        except Exception as error:  # noqa: B902: its errors have no class of their own here
            if isinstance(error, ValueError) or getattr(error, "replycode", 0) in _OUT_OF_REACH:
                raise Invalid(_words(error), hint="jog it back") from error
            raise
        await self._stands()

    async def _stands(self) -> None:
        """Waits until no axis moves."""
        before = await self._joints()
        while True:
            await asyncio.sleep(0.02)
            now = await self._joints()
            if all(abs(one - other) < _STILL for one, other in zip(now, before)):
                return
            before = now

    async def free_drive(self, on: bool) -> None:
        # The column would fall where its motor is free.
        self.is_free = True
        await self._working(self.arm.start_freedrive_mode([2, 3, 4]) if on else self.arm.stop_freedrive_mode())
        self.is_free = on

    async def go_to(self, position: str, point: Point, offset_z: float, speed: float) -> None:
        _must_be_reachable(point)
        await self._working(self._go_to(point, offset_z, speed), is_move=True)

    async def _go_to(self, point: Point, offset_z: float, speed: float) -> None:
        for gateway in point["gateways"]:
            await self._go(gateway, speed=speed)
        at, up, back = _approach(point)
        await self._go(point, up, back, speed)
        await self._go(point, at + offset_z, speed=speed)

    async def _visit(self, point: Point, close: bool) -> None:
        """Passes the gateways, comes to the point by its access pattern, works the gripper, and leaves by the same way."""
        at, up, back = _approach(point)
        for gateway in point["gateways"]:
            await self._go(gateway)
        await self._go(point, up, back)
        await self._go(point, at)
        await self._grip(close)
        await self._go(point, up, back)
        for gateway in reversed(point["gateways"]):
            await self._go(gateway)

    async def _go(self, spot: Spot, up: float = 0, back: float = 0, speed: Optional[float] = None) -> None:
        """Goes to a spot, `up` mm above it and `back` mm in front of it, and sees that it has arrived."""
        coords = spot["coords"]
        if spot["coord_type"] == "joint":
            wanted = {1: coords["base"] + up, 2: coords["shoulder"], 3: coords["elbow"], 4: coords["wrist"]}
            if coords.get("rail"):
                wanted[6] = coords["rail"]
            await self.arm.move_to_joint_position(wanted, **_slow(speed))
            # This waits until it stands.
            joints = await self.arm.request_joint_position()
            is_there = all(abs(joints[axis] - at) < _NEAR for axis, at in wanted.items())
        else:
            yaw = math.radians(coords["yaw"])
            x, y, z = coords["x"] - back * math.cos(yaw), coords["y"] - back * math.sin(yaw), coords["z"] + up
            coordinate = importlib.import_module("pylabrobot.resources").Coordinate
            await self.arm.move_to_location(coordinate(x, y, z), coords["yaw"], orientation=spot["elbow"], **_slow(speed))
            await self.arm.request_joint_position()
            at = (await self.arm.request_gripper_pose()).location
            is_there = math.dist((x, y, z), (at.x, at.y, at.z)) < _NEAR
        if not is_there:
            raise DeviceFailed(f"it stopped before it came to {spot['name']}", hint="see what is in its way, then initialize")

    async def _grip(self, close: bool) -> None:
        self.is_gripping = None
        await self.arm.move_gripper(self.closed_mm if close else self.open_mm, force_sensing=close)
        if close and await self.arm.is_gripper_closed():
            raise DeviceFailed("its gripper closed on nothing", hint="see where the labware is, then initialize")
        self.is_gripping = close

    async def where(self) -> Where:
        if not self.is_connected:
            return {"state": "unhomed", "gripper": None}
        return await self._working(self._where())

    async def _where(self) -> Where:
        if self.moves:
            # The controller answers this between two questions of the move.
            await self.arm.request_power_state()
            return {"state": "moving", "gripper": None}
        if await self._is_moving():
            return {"state": "moving", "gripper": None}
        is_closed = await self.arm.is_gripper_closed()
        gripper: Any = "empty" if is_closed or self.is_gripping is False else "full" if self.is_gripping else None
        if self.is_halted:
            return {"state": "stopped", "gripper": gripper}
        if not self.is_homed:
            return {"state": "unhomed", "gripper": gripper}
        if not await self.arm.request_power_state():
            return {"state": "error", "gripper": gripper}
        pose = await self.arm.request_gripper_pose()
        at = {"x": pose.location.x, "y": pose.location.y, "z": pose.location.z, "yaw": pose.rotation.z, "pitch": 0.0, "roll": 0.0}
        return {"state": "idle", "gripper": gripper, "pose": at}

    async def _is_moving(self) -> bool:
        first = await self._joints()
        await asyncio.sleep(0.1)
        return any(abs(now - before) >= _STILL for now, before in zip(await self._joints(), first))

    async def _joints(self) -> List[float]:
        return [float(word) for word in (await self.arm.send_command("wherej")).split()]

    async def halt(self) -> None:
        self.is_halted = True
        try:
            await self._stop_motion()
        except (OSError, RuntimeError, asyncio.TimeoutError):
            # The connection is gone, or was never opened: `halt` works on a new one.
            await self.arm.io.stop()
            await self.arm.io.setup()
            self.is_connected = True
            await self.arm.set_response_mode("pc")
            await self.arm.select_robot(1)
            await self._stop_motion()
        if self.is_free:
            await self.arm.stop_freedrive_mode()
            self.is_free = False
        if await self._is_moving():
            raise DeviceFailed("it still moves after halt", hint="use its red button")

    async def _stop_motion(self) -> None:
        """Writes `halt` past everything, ends what waits for answers, and drops the answers that nobody waits for any more."""
        await self.arm.io.write(b"\nhalt\n")
        mine = [task for task in self.tasks if task.cancel()]
        if mine:
            await asyncio.wait(mine)
        try:
            for _ in range(_MOST_LATE):
                if not await self.arm.io.readline(timeout=0.3):
                    raise OSError("the connection is closed")
        except (asyncio.TimeoutError, TimeoutError):
            return
        raise OSError("it does not stop answering")


_JOINTS = {"base": 1, "shoulder": 2, "elbow": 3, "wrist": 4}
#: The errors of the controller for a point to which the arm cannot go.
_OUT_OF_REACH = {-1012, -1013, -1039, -1040, -1042}
#: An arm has arrived within this many mm and degrees, and stands if no axis moves by more than `_STILL` in 0.1 s.
_NEAR, _STILL = 2.0, 0.02
#: The clearance of a point that does not say one, in mm.
_CLEARANCE = 50
#: The most answers that may be under way when a halt comes.
_MOST_LATE = 50


def _or(length: Optional[float], usual: float) -> float:
    return usual if length is None else length


def _slow(speed: Optional[float]) -> Dict[str, float]:
    return {} if speed is None else {"speed_pct": speed}


def _approach(point: Point) -> Tuple[float, float, float]:
    """Returns how far above the point the gripper works, and how far above it and in front of it the approach begins."""
    access = point["access"] or {"access_type": "vertical", "vertical_clearance": None, "horizontal_clearance": None, "gripper_offset": None}
    is_vertical = access["access_type"] == "vertical"
    at = access["gripper_offset"] or 0
    up = at + _or(access["vertical_clearance"], _CLEARANCE if is_vertical else 0)
    return at, up, 0 if is_vertical else _or(access["horizontal_clearance"], _CLEARANCE)


def _must_be_reachable(point: Point) -> None:
    access = point["access"]
    if point["coord_type"] == "joint" and access is not None and access["access_type"] == "horizontal":
        raise Invalid(f"{point['name']} is taught in joint coordinates, from which it cannot come horizontally", hint="teach its pose")


def _operations_of(backend: Any, seconds: Dict[str, float], halts: Any) -> Dict[str, Any]:
    found: Dict[str, Any] = {}
    for name, method in inspect.getmembers(type(backend), inspect.isfunction):
        if name.startswith("_") or name in _NOT_OPERATIONS:
            continue
        try:
            schema = _schema(method, {}, {}, {})
        except (TypeError, KeyError) as error:
            print(f"{name} is no operation: {error}", file=sys.stderr)
            continue
        known = _OF_EVERY_BENCH.get(name)
        is_other = name in _TAKEN or (known is not None and known != set(schema["properties"]))
        told = f"backend_{name}" if is_other else name
        if not re.fullmatch("[a-z][a-z0-9_]{0,31}", told) or len(found) == _MOST_OPERATIONS:
            print(f"{name} is no operation: its name is not in small letters or too long, or there are too many", file=sys.stderr)
            continue
        timed = "duration" in schema["properties"] and name not in seconds
        call = _calling(name)
        call.__bridge__ = {  # type: ignore[attr-defined]
            "summary": _summary(method),
            "params": schema,
            "seconds": {"param": "duration", "plus": _USUAL_S} if timed else seconds.get(name, _USUAL_S),
            "margin_s": _MARGIN_S,
            "leaves_on": None if name in halts else "heat" if _goes_on(name, schema) else "motion",
            "can_end_early": False,
        }
        found[told] = call
    if callable(getattr(backend, "deactivate", None)) and _takes_a_number(found.get("set_temperature")):
        found["set_temperature"] = _switching_off(found["set_temperature"])
    if callable(getattr(backend, "start_shaking", None)) and callable(getattr(backend, "stop_shaking", None)) and "shake" not in found:

        @operation(seconds=("duration", 10), units={"speed": "rpm", "duration": "s"})
        async def shake(self: Any, speed: float, duration: float) -> None:
            """Shake, and stand still again"""
            await self.run(self.shake_for, {"speed": speed, "duration": duration})

        found["shake"] = shake
    return found


def _goes_on(name: str, schema: Dict[str, Any]) -> bool:
    """Whether what a method begins goes on when the method has ended, until the device is halted. The bench calls that heat."""
    return name.startswith("start_") or "temperature" in name or "temperature" in schema["properties"]


def _calling(name: str) -> Callable[..., Any]:
    async def call(self: Any, **params: Any) -> Any:
        return await self.run(getattr(self.backend, name), params)

    return call


def _takes_a_number(set_temperature: Any) -> bool:
    params = getattr(set_temperature, "__bridge__", {}).get("params", {})
    return "temperature" in params.get("required", ()) and params["properties"]["temperature"]["type"] in ("number", "integer")


def _switching_off(set_temperature: Callable[..., Any]) -> Callable[..., Any]:
    """The same operation, which calls `deactivate` where the temperature is None."""

    async def call(self: Any, temperature: Optional[float]) -> Any:
        if temperature is None:
            return await self.run(self.backend.deactivate, {})
        return await set_temperature(self, temperature=temperature)

    told = set_temperature.__bridge__  # type: ignore[attr-defined]
    params = told["params"]
    described = params["properties"]["temperature"]
    described = {**described, "type": [described["type"], "null"]}
    call.__bridge__ = {**told, "params": {**params, "properties": {"temperature": described}}}  # type: ignore[attr-defined]
    return call


#: What runs in threads: each may use a port until it has ended, also where nobody waits for it any more.
_in_threads: Set["asyncio.Future[Any]"] = set()


async def _awaited(method: Callable[..., Any], **params: Any) -> Any:
    """Calls a method of a backend. One that is not `async` has a thread of its own: a halt must not wait for it."""
    if inspect.iscoroutinefunction(method):
        return await method(**params)
    thread = asyncio.get_running_loop().run_in_executor(None, functools.partial(method, **params))
    _in_threads.add(thread)
    thread.add_done_callback(_in_threads.discard)
    result = await asyncio.shield(thread)
    return await result if hasattr(result, "__await__") else result


def _words(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


def _plain(value: Any) -> Any:
    """What can be written as JSON: a method may return an object that only Python knows."""
    try:
        _encode(value)
        return value
    except (TypeError, ValueError):
        return str(value)


def _main(words: typing.List[str]) -> None:
    usage = (
        "usage: python3 benchd_bridge.py pylabrobot BACKEND [NAME=VALUE …] [--type WORD] [--check METHOD] [--seconds METHOD=S …] [--open MM --closed MM]; "
        "BACKEND is package.module.Class, and a PreciseFlex needs the widths to which its gripper opens and closes"
    )
    if len(words) < 2 or words[0] != "pylabrobot":
        sys.exit(usage)
    seconds: Dict[str, float] = {}
    type_: Optional[str] = None
    check: Optional[str] = None
    given: Dict[str, Any] = {}
    widths: Dict[str, float] = {}
    rest = iter(words[2:])
    for word in rest:
        name, _, value = (next(rest, "") if word == "--seconds" else word).partition("=")
        if word == "--type":
            type_ = next(rest, "")
        elif word == "--check":
            check = next(rest, "")
        elif word in ("--open", "--closed"):
            widths[word] = float(next(rest, "nan"))
        elif not name or not value:
            sys.exit(usage)
        elif word == "--seconds":
            seconds[name] = float(value)
        else:
            given[name] = _value(value)
    module, _, class_ = words[1].rpartition(".")
    try:
        backend = getattr(importlib.import_module(module), class_)(**given)
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        sys.exit(f"{words[1]} cannot be made: {error}; is PyLabRobot installed for {sys.executable}?")
    if any(each.__name__ == "PreciseFlex" for each in type(backend).__mro__):
        if set(widths) != {"--open", "--closed"}:
            sys.exit(usage)
        _PreciseFlex(backend, widths["--open"], widths["--closed"]).serve()
    try:
        bridge = pylabrobot_bridge(backend, seconds, type_, check)
    except ValueError as error:
        sys.exit(f"{words[1]}: {error}; name another one: --check METHOD")
    bridge.serve()


def _value(text: str) -> Any:
    """A number, true, false or null as JSON has it; anything else is text."""
    try:
        return json.loads(text)
    except ValueError:
        return text


if __name__ == "__main__":
    _main(sys.argv[1:])
