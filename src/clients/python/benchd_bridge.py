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

A method with @operation is an operation of the device; its annotations say what its parameters are (int, str, Literal, lists, dataclasses, …), and
it may be `async`. What it returns is the `data` of the answer; `self.attach("export.csv")` gives a file with it. `halt` is called at any moment, beside the operation that runs, and must end all
motion and heat; `initialize` is not called until `halt` has succeeded. Everything that is printed goes to standard error.

A class of PyLabRobot is a device by `python3 benchd_bridge.py pylabrobot CLASS …`, with benchd_bridge_pylabrobot.py and benchd_bridge_arms.py beside this file.
"""

# Whoever checks a program with types checks this file too: what the bench answers is JSON.
# mypy: disable-error-code="no-any-return"
# pyright: basic

from __future__ import annotations

import asyncio
import base64
import collections.abc
import dataclasses
import datetime
import enum
import functools
import importlib
import inspect
import json
import math
import os
import pathlib
import re
import sys
import threading
import time
import traceback
import types
import typing
from concurrent.futures import Future
from typing import Any, Callable, Dict, Iterator, List, Literal, Mapping, NamedTuple, Optional, Sequence, Tuple, TypedDict, TypeVar, Union

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
    returns: Optional[Dict[str, str]] = None,
) -> Callable[[_Method], _Method]:
    """Makes a method an operation of the device.

    `seconds` is how long it takes: a number, or ("duration", 10) for the parameter `duration` and 10 s on top. After `margin` more the bench
    gives it up and halts the device. `leaves_on` ("motion", "heat" or None) is what goes on by itself if this program ends: "heat" also when the
    operation has ended, until one with "no heat" has, or a stop. `returns` has the units of
    the members of its result. A method whose parameters cannot come from JSON is no operation, and standard error says so.
    """

    def mark(method: _Method) -> _Method:
        try:
            params = Params(method)
        except TypeError as error:
            print(f"{method.__name__} is no operation: {error}", file=sys.stderr)
            return method
        for name, reason in params.left_out.items():
            print(f"{method.__name__} has no parameter {name}: {reason}", file=sys.stderr)
        for word, values in (("unit", units), ("minimum", minimum), ("maximum", maximum)):
            for name, value in (values or {}).items():
                params.schema["properties"][name][word] = value
        method.__params__ = params  # type: ignore[attr-defined]
        method.__bridge__ = {  # type: ignore[attr-defined]
            "summary": _summary(method),
            "params": params.schema,
            "seconds": seconds if isinstance(seconds, (int, float)) else {"param": seconds[0], "plus": seconds[1]},
            "margin_s": margin,
            "leaves_on": leaves_on,
            "can_end_early": can_end_early,
            **({} if labware_sites is None else {"labware_sites": labware_sites}),
            **({} if returns is None else {"returns": returns}),
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

        arguments = method.__params__.values(params["params"])

        def call() -> Any:
            self._attached, self._attached_to = [], params["operation_id"]
            return method(**arguments)

        data = plain(self._alone(call, params["operation_id"]))
        text = _encode(data).encode()
        if len(text) > _LONGEST_RESULT:
            about = {"name": f"{params['operation']}.json", "bytes": len(text), "media_type": "application/json", "note": None}
            self._attached.append((text, about))
            data = {"file": about["name"], "bytes": len(text)}
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
#: The bench refuses parameters that are nested deeper, and other names.
_MOST_LEVELS = 8
_NAME = re.compile(r"(?!(?:constructor|prototype)$)[A-Za-z][A-Za-z0-9_]{0,63}")
#: A longer default is not described.
_LONGEST_DEFAULT = 1000
#: A longer result becomes a file, since a line must be shorter than 1 MiB.
_LONGEST_RESULT = 256 * 1024


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


def _words(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


def _failure(message: str, reason: str, hint: Optional[str]) -> bytes:
    return b'"error":' + _encode({"code": -32000, "message": message, "data": {"reason": reason, "hint": hint}}).encode()


class Shape(NamedTuple):
    """How the values of an annotation look in JSON: a schema, and what makes a Python value of a JSON value or raises a ValueError."""

    schema: Dict[str, Any]
    make: Callable[[Any], Any]


#: How the values of further types look in JSON. Each takes an annotation, and returns its shape, or None for a type that it does not know.
more_shapes: List[Callable[[Any], Optional[Shape]]] = []


def shape_of(annotation: Any) -> Shape:
    """Returns how the values of an annotation look in JSON. Raises a TypeError for values that JSON cannot have, such as functions."""
    try:
        return _shape_of(annotation)
    except RecursionError:
        raise TypeError(f"a value of {annotation} may hold another one of its kind, without end") from None


def _shape_of(annotation: Any) -> Shape:
    known = next((shape for shape in (more(annotation) for more in more_shapes) if shape is not None), None)
    if known is not None:
        return known
    origin = typing.get_origin(annotation)
    if origin is typing.Literal:
        choices = {choice.name if isinstance(choice, enum.Enum) else choice: choice for choice in typing.get_args(annotation)}
        if all(type(choice) in _JSON_TYPES for choice in choices):
            return _choice(choices)
    if origin in (Union, getattr(types, "UnionType", Union)):
        return _union(typing.get_args(annotation))
    if isinstance(annotation, type) and any(hasattr(annotation, word) for word in ("__dataclass_fields__", "__total__", "_fields")):
        return _record(annotation)
    if isinstance(origin or annotation, type):
        made = next((make for kind, make in _SHAPES if issubclass(origin or annotation, kind)), None)
        if made is not None:
            return made(annotation)
    if annotation in (Any, inspect.Parameter.empty):
        return Shape({"type": ["number", "string", "boolean", "array", "object", "null"]}, lambda value: value)
    if hasattr(annotation, "__supertype__") or origin is getattr(typing, "Annotated", None):
        return shape_of(getattr(annotation, "__supertype__", None) or typing.get_args(annotation)[0])
    raise TypeError(f"a value of {annotation} cannot come from JSON")


def _scalar(word: str, *kinds: type, make: Callable[[Any], Any] = lambda value: value) -> Callable[[Any], Shape]:
    def checked(value: Any) -> Any:
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            raise ValueError(f"{value!r} is no {word}")
        return make(value)

    return lambda annotation: Shape({"type": word}, checked)


def _text(make: Callable[[str], Any], description: str) -> Callable[[Any], Shape]:
    return lambda annotation: Shape({"type": "string", "description": description}, make)


def _choice(choices: Dict[Any, Any]) -> Shape:
    """One of some values; `choices` has the Python value of each JSON value."""

    def make(value: Any) -> Any:
        found = [choices[one] for one in choices if one == value and isinstance(one, bool) == isinstance(value, bool)]
        if not found:
            raise ValueError(f"{value!r} is none of {', '.join(map(str, choices))}")
        return found[0]

    words = [_JSON_TYPES[type(choice)] for choice in choices]
    return Shape({"type": _one_or_list(words), "enum": [choice for choice in choices if choice is not None]}, make)


def _enum(annotation: Any) -> Shape:
    """The name of a member; a list of names for flags, which are combined."""
    if not annotation.__members__ and issubclass(annotation, int):
        return _scalar("integer", int)(annotation)
    if not annotation.__members__:
        raise TypeError(f"{annotation} has no members")
    one = _choice({member.name: member for member in annotation.__members__.values()})
    if not issubclass(annotation, enum.Flag):
        return one
    return Shape({"type": "array", "items": one.schema}, lambda names: functools.reduce(lambda a, b: a | b, map(one.make, names), annotation(0)))


def _array(annotation: Any) -> Shape:
    kind = typing.get_origin(annotation) or annotation
    args = typing.get_args(annotation) or (Any,)
    is_fixed = issubclass(kind, tuple) and Ellipsis not in args and bool(typing.get_args(annotation))
    parts = [shape_of(each) for each in args if each is not Ellipsis]
    item = _union(args) if is_fixed and len(set(args)) > 1 else parts[0]
    build = next((each for each in (tuple, frozenset, set) if issubclass(kind, each)), list)

    def make(values: Any) -> Any:
        if not isinstance(values, list) or (is_fixed and len(values) != len(parts)):
            raise ValueError(f"{values!r} is no list" + (f" of {len(parts)} values" if is_fixed else ""))
        return build((parts[at] if is_fixed else item).make(value) for at, value in enumerate(values))

    length = {"minItems": len(parts), "maxItems": len(parts)} if is_fixed else {}
    return Shape({"type": "array", "items": item.schema, **length}, make)


def _table(annotation: Any) -> Shape:
    key, value = (shape_of(each) for each in typing.get_args(annotation) or (str, Any))

    def make(values: Any) -> Any:
        if not isinstance(values, dict):
            raise ValueError(f"{values!r} is no object")
        return {_key(key, name): value.make(each) for name, each in values.items()}

    return Shape({"type": "object"}, make)


def _key(shape: Shape, name: str) -> Any:
    """Returns a key of an object, which is always text in JSON."""
    try:
        return shape.make(name)
    except ValueError:
        return shape.make(json.loads(name))


def _record(annotation: Any) -> Shape:
    """An object with the fields of a dataclass, a TypedDict or a named tuple."""
    if dataclasses.is_dataclass(annotation):
        fields = [field for field in dataclasses.fields(annotation) if field.init]
        missing = dataclasses.MISSING
        required = [field.name for field in fields if field.default is missing and field.default_factory is missing]
        names = [field.name for field in fields]
    else:
        names = list(getattr(annotation, "_fields", annotation.__annotations__))
        required = [name for name in names if name in getattr(annotation, "__required_keys__", names) and name not in getattr(annotation, "_field_defaults", {})]
    hints = _hints(annotation, annotation)
    shapes: Dict[str, Shape] = {}
    for name in names:
        try:
            shapes[name] = shape_of(hints[name])
        except (TypeError, KeyError):
            if name in required:
                raise

    def make(values: Any) -> Any:
        if not isinstance(values, dict):
            raise ValueError(f"{values!r} is no object")
        unknown = [name for name in values if name not in shapes] or [name for name in required if name not in values]
        if unknown:
            raise ValueError(f"{unknown[0]} is {'missing' if unknown[0] in required else 'unknown'}")
        return annotation(**{name: _made(shapes[name], name, value) for name, value in values.items()})

    properties = {name: shape.schema for name, shape in shapes.items()}
    return Shape({"type": "object", "properties": properties, "required": required}, make)


def _union(options: Sequence[Any]) -> Shape:
    """One of some shapes. A value is tried as each of them in turn; an option that JSON cannot have is left out."""
    shapes: List[Shape] = []
    for option in options:
        try:
            shapes.append(shape_of(option))
        except TypeError as error:
            reason = error
    if all(shape.schema["type"] == "null" for shape in shapes):
        raise reason

    def make(value: Any) -> Any:
        reasons = []
        # A whole number stays one where both kinds are possible.
        for shape in sorted(shapes, key=lambda shape: shape.schema["type"] != _JSON_TYPES.get(type(value))):
            try:
                return shape.make(value)
            except (TypeError, ValueError) as error:
                reasons.append(str(error))
        raise ValueError(", and ".join(dict.fromkeys(reasons)))

    schemas = [shape.schema for shape in shapes if shape.schema["type"] != "null"]
    if len(schemas) == 1:
        return Shape({**schemas[0], "type": _one_or_list([*_list(schemas[0]["type"]), *(["null"] if len(shapes) > 1 else [])])}, make)
    merged: Dict[str, Any] = {"type": _one_or_list([word for shape in shapes for word in _list(shape.schema["type"])])}
    choices = [choice for schema in schemas for choice in schema.get("enum", [])]
    if all("enum" in schema for schema in schemas):
        merged["enum"] = list(dict.fromkeys(choices))
    elif choices:
        merged["description"] = f"or one of: {', '.join(map(str, choices))}"[:300]
    # The items and members of two options cannot be told apart in a schema: those of one option are kept.
    for words in (("items", "minItems", "maxItems"), ("properties", "required")):
        having = [schema for schema in schemas if words[0] in schema]
        if len(having) == 1 or (having and all(schema == having[0] for schema in having)):
            merged.update({word: having[0][word] for word in words if word in having[0]})
    return Shape(merged, make)


def _one_or_list(words: Sequence[str]) -> Any:
    unlike = list(dict.fromkeys(word for word in words if word != "integer" or "number" not in words))
    return unlike[0] if len(unlike) == 1 else unlike


def _list(word: Any) -> List[str]:
    return word if isinstance(word, list) else [word]


_JSON_TYPES = {int: "integer", float: "number", str: "string", bool: "boolean", list: "array", dict: "object", type(None): "null"}
#: The first kind of which a type is one says how its values look.
_SHAPES: Tuple[Tuple[Any, Callable[[Any], Shape]], ...] = (
    (enum.Enum, _enum),
    (bool, _scalar("boolean", bool)),
    (int, _scalar("integer", int)),
    (float, _scalar("number", int, float, make=float)),
    (str, _scalar("string", str)),
    (type(None), _scalar("null", type(None))),
    ((bytes, bytearray), _text(bytes.fromhex, "bytes as hexadecimal digits")),
    (datetime.datetime, _text(lambda text: datetime.datetime.fromisoformat(text), "a time such as 2026-11-29T09:00:00")),
    (datetime.date, _text(lambda text: datetime.date.fromisoformat(text), "a day such as 2026-11-29")),
    (datetime.timedelta, lambda annotation: Shape({"type": "number", "unit": "s"}, lambda seconds: datetime.timedelta(seconds=seconds))),
    (pathlib.PurePath, _text(pathlib.Path, "the path of a file on the computer of the bench")),
    (collections.abc.Mapping, _table),
    (collections.abc.Iterable, _array),
)


def _made(shape: Shape, name: str, value: Any) -> Any:
    try:
        return shape.make(value)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name}: {error}") from error


class Params:
    """The parameters of a method: their schema, and the Python values that it is called with."""

    def __init__(self, method: Callable[..., Any], owner: Any = None, is_bound: bool = False, is_lenient: bool = False) -> None:
        """Raises a TypeError where a parameter without a default cannot come from JSON, unless it is lenient; others are left out."""
        hints = _hints(method, owner)
        self.shapes: Dict[str, Shape] = {}
        #: Parameters that a caller cannot give, each with the reason.
        self.left_out: Dict[str, str] = {}
        properties: Dict[str, Any] = {}
        required = []
        for parameter in list(inspect.signature(method).parameters.values())[0 if is_bound else 1 :]:
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                continue
            name, default = parameter.name, parameter.default
            annotation = hints.get(name, parameter.annotation)
            try:
                # Where nothing is annotated, the default tells the type.
                is_told = annotation is parameter.empty and type(default) in (int, float, str, bool)
                shape = shape_of(type(default) if is_told else annotation)
                _must_be_taken(name, shape.schema)
                if parameter.kind is parameter.POSITIONAL_ONLY:
                    raise TypeError("it has no name in a call")
            except TypeError as error:
                if default is parameter.empty and not is_lenient:
                    raise TypeError(f"{name}: {error}") from error
                self.left_out[name] = str(error)
                continue
            self.shapes[name] = shape
            properties[name] = dict(shape.schema)
            if default is parameter.empty:
                required.append(name)
            elif default is None:
                # A parameter that is left out is None already.
                words = [word for word in _list(shape.schema["type"]) if word != "null"]
                properties[name]["type"] = _one_or_list(words) if words else "null"
            elif not isinstance(default, _OF_ITS_START) and plain(default) is not None and _fits(shape, plain(default)) and _is_taken(plain(default)):
                properties[name]["default"] = plain(default)
        if len(properties) > 128:
            raise TypeError("it has more than 128 parameters")
        self.schema: Dict[str, Any] = {"type": "object", "properties": properties, "required": required}

    def made(self, given: Dict[str, Any]) -> Dict[str, Any]:
        """Makes the arguments of a call. Raises a ValueError, naming the parameter."""
        for name in given:
            if name not in self.shapes:
                raise ValueError(f"there is no parameter {name}")
        return {name: _made(self.shapes[name], name, value) for name, value in given.items()}

    def values(self, given: Dict[str, Any]) -> Dict[str, Any]:
        """As `made`, for a caller of the device. Raises `Invalid`."""
        try:
            return self.made(given)
        except ValueError as error:
            raise Invalid(str(error)) from error


#: Defaults that are made when a module is loaded: a description must be the same after each start.
_OF_ITS_START = (datetime.date, datetime.time)


def _must_be_taken(name: str, schema: Mapping[str, Any], level: int = 1) -> None:
    """Raises a TypeError for a schema that the bench refuses, and with it the whole description."""
    if not _NAME.fullmatch(name):
        raise TypeError(f"{name!r} is no name for the bench, which takes a letter, then letters, digits and _, at most 64 in all, and neither constructor nor prototype")
    if schema["type"] in ("null", []):
        raise TypeError("it has no value but None")
    if level > _MOST_LEVELS:
        raise TypeError(f"it is nested deeper than {_MOST_LEVELS} levels")
    members = schema.get("properties", {})
    if len(schema.get("enum", ())) > 1000 or len(members) > 128:
        raise TypeError("it has too many members")
    for inner, each in (*members.items(), *([("items", schema["items"])] if "items" in schema else [])):
        _must_be_taken(inner, each, level + 1)


def _is_taken(default: Any) -> bool:
    """Whether the bench takes a default: no text above the usual length, and no number that is infinite there."""
    text = _encode(default)
    return len(text) <= _LONGEST_DEFAULT and not re.search(r"\d{300}", text)


def _fits(shape: Shape, value: Any) -> bool:
    try:
        shape.make(value)
        return True
    except (TypeError, ValueError):
        return False


def _hints(annotated: Any, owner: Any = None) -> Dict[str, Any]:
    """Returns the annotations as types. A name that only a type checker knows is looked for in the modules that are loaded."""
    inside = {name: each for base in reversed(getattr(owner, "__mro__", ())) for name, each in vars(base).items() if isinstance(each, type)}
    try:
        return typing.get_type_hints(annotated, localns=inside)
    except RecursionError:
        raise
    except Exception:  # noqa: B902: an annotation may be any expression
        module = vars(sys.modules.get(annotated.__module__, typing))
        return {name: _hint(text, module, inside) for name, text in getattr(annotated, "__annotations__", {}).items()}


def _hint(text: Any, module: Dict[str, Any], inside: Dict[str, Any]) -> Any:
    if not isinstance(text, str):
        return text
    package = str(module.get("__name__", "")).partition(".")[0]
    for _ in range(10):
        try:
            return eval(text, module, inside)
        except NameError as error:
            name = str(error).split("'")[1]
            homes = (vars(home) for path, home in list(sys.modules.items()) if path.partition(".")[0] == package)
            found = next((home[name] for home in homes if isinstance(home.get(name), type)), None)
            if found is None:
                return text
            inside = {**inside, name: found}
        except Exception:  # noqa: B902: an annotation may be any expression
            return text
    return text


def plain(value: Any, levels: int = 12, around: Tuple[int, ...] = ()) -> Any:
    """Returns a value as JSON can have it: names of enums, lists of arrays, members of objects; None for numbers that are none. `around` is what it is in."""
    if value is None or isinstance(value, (bool, int, str)) and not isinstance(value, enum.Enum):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, enum.Enum):
        return value.name if value.name is not None else plain(value.value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value).hex()
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, datetime.timedelta):
        return value.total_seconds()
    if levels == 0 or id(value) in around:
        return _text_of(value)
    inner = functools.partial(plain, levels=levels - 1, around=(*around, id(value)))
    if isinstance(value, Mapping):
        return {str(plain(name)): inner(each) for name, each in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return {name: inner(getattr(value, name)) for name in getattr(value, "_fields")}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [inner(each) for each in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: inner(getattr(value, field.name)) for field in dataclasses.fields(value)}
    # Arrays and numbers of numpy.
    for word in ("tolist", "item"):
        if callable(getattr(value, word, None)):
            try:
                return inner(getattr(value, word)())
            except Exception:  # noqa: B902: the method of that name may be another one
                break
    return _text_of(value)


def _text_of(value: Any) -> str:
    try:
        return str(value)
    except Exception:  # noqa: B902: an object may raise what it likes
        return f"<{type(value).__name__}>"


def _main(words: List[str]) -> None:
    if words[:1] != ["pylabrobot"]:
        sys.exit("usage: python3 benchd_bridge.py pylabrobot CLASS …; a bridge of your own is started by its own file")
    # The module that is imported here must find this one under its name, and not load it once more.
    sys.modules["benchd_bridge"] = sys.modules[__name__]
    try:
        pylabrobot = importlib.import_module("benchd_bridge_pylabrobot")
    except ModuleNotFoundError as error:
        if error.name not in ("benchd_bridge_pylabrobot", "benchd_bridge_arms"):
            raise
        sys.exit(f"{error.name}.py is missing beside benchd_bridge.py; download it from the bench: curl -O http://BENCH:8520/clients/{error.name}.py")
    pylabrobot.main(words[1:])


if __name__ == "__main__":
    _main(sys.argv[1:])
