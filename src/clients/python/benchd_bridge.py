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
may be `async`. What it returns is the `data` of the answer. `halt` is called at any moment, beside the operation that runs, and must end all
motion and heat. Everything that is printed goes to standard error.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import sys
import threading
import time
import traceback
import typing
from typing import Any, Callable, Dict, Optional, Tuple, Union

__all__ = ["Bridge", "Busy", "DeviceFailed", "Interlock", "Invalid", "operation"]


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


def operation(
    seconds: Seconds,
    margin: float = 30,
    leaves_on: Optional[str] = "motion",
    can_end_early: bool = False,
    units: Optional[Dict[str, str]] = None,
    minimum: Optional[Dict[str, float]] = None,
    maximum: Optional[Dict[str, float]] = None,
) -> Callable[[Callable], Callable]:
    """Makes a method an operation of the device.

    `seconds` is how long it takes: a number, or ("duration", 10) for the parameter `duration` and 10 s on top. After `margin` more the bench
    gives it up and halts the device. `leaves_on` ("motion", "heat" or None) is what goes on by itself if this program ends.
    """

    def mark(method: Callable) -> Callable:
        plain = isinstance(seconds, (int, float))
        method.__bridge__ = {  # type: ignore[attr-defined]
            "summary": (inspect.getdoc(method) or "").split("\n")[0][:200],
            "params": _schema(method, units or {}, minimum or {}, maximum or {}),
            "seconds": seconds if plain else {"param": seconds[0], "plus": seconds[1]},
            "margin_s": margin,
            "leaves_on": leaves_on,
            "can_end_early": can_end_early,
        }
        return method

    return mark


class Bridge:
    """Base of a bridge: set `type` as in the configuration of the bench, give methods an @operation, and call `serve()`."""

    type = "instrument"
    model = "unknown"
    serial_number: Optional[str] = None
    firmware_version: Optional[str] = None
    #: The id of the operation that runs.
    operation_id: Optional[str] = None

    def initialize(self) -> Any:
        """Brings the instrument to where it takes commands. May move it."""

    def check(self) -> Any:
        """Raises when the instrument is not well. Moves nothing."""

    def halt(self) -> Any:
        """Ends motion and heat, at any moment."""
        raise DeviceFailed("its program cannot halt it", hint="use its red button")

    def end(self, operation_id: str) -> Any:
        """Ends the operation that runs in an orderly way; returns the seconds that were left."""
        raise Invalid("it cannot end an operation early")

    # def temperature(self): a reading in °C; a pair with the target where there is one.

    def progress(self, fraction: Optional[float] = None, message: Optional[str] = None) -> None:
        """Tells the bench how far the operation is that runs; `fraction` is from 0 to 1."""
        if self.operation_id is not None:
            params = {"operation_id": self.operation_id, "fraction": fraction, "message": message}
            self._say(_encode({"jsonrpc": "2.0", "method": "progress", "params": params}))

    def describe(self) -> Dict[str, Any]:
        operations = {name: getattr(self, name).__bridge__ for name in sorted(dir(type(self))) if hasattr(getattr(type(self), name), "__bridge__")}
        return {
            "protocol": 1,
            "type": self.type,
            "model": self.model,
            "identity": {"serial_number": self.serial_number, "firmware_version": self.firmware_version},
            "operations": operations,
            "readings": {"temperature": {"unit": "°C"}} if hasattr(self, "temperature") else {},
        }

    def serve(self) -> None:
        """Answers the bench on standard input and output until that ends."""
        self._in = os.fdopen(os.dup(0), "rb")
        # Whatever a library prints must not come between the messages.
        self._out = os.dup(1)
        os.dup2(2, 1)
        self._writing, self._moving, self._looping = (threading.Lock() for _ in range(3))
        self._loop: Optional[asyncio.AbstractEventLoop] = None
        self._asked = threading.Event()
        self._turn = _Turn()
        threading.Thread(target=self._stand_by, daemon=True).start()
        self._read()
        threading.Event().wait()

    def _read(self) -> None:
        """Reads and answers until another thread has taken its turn: to hand each question to a thread takes longer than most answers."""
        turn = self._turn
        while self._turn is turn:
            line = self._in.readline()
            if not line:
                # The bench has gone. What still runs here is not waited for.
                os._exit(0)
            turn.question += 1
            turn.is_answering = True
            if not self._asked.is_set():
                self._asked.set()
            self._answer(_decode(line.decode()))
            turn.is_answering = False

    def _stand_by(self) -> None:
        """Waits until an answer takes longer than a moment, and reads on in the place of the thread that makes it: a halt is always read."""
        while True:
            self._asked.wait()
            self._asked.clear()
            turn, question = self._turn, self._turn.question
            time.sleep(0.003)
            if turn.is_answering and turn.question == question:
                break
        self._turn = _Turn()
        threading.Thread(target=self._stand_by, daemon=True).start()
        self._read()

    def _answer(self, message: Dict[str, Any]) -> None:
        reply: Dict[str, Any] = {"jsonrpc": "2.0", "id": message.get("id")}
        try:
            text = _encode({**reply, "result": self._carry_out(message["method"], message.get("params") or {})})
        except DeviceFailed as error:
            text = _encode({**reply, "error": _failure(str(error), error.reason, error.hint)})
        except BaseException as error:  # noqa: B902: whatever a library raises is an answer, too
            traceback.print_exc()
            text = _encode({**reply, "error": _failure(f"{type(error).__name__}: {error}", "device_failed", None)})
        self._say(text)

    def _carry_out(self, method: str, params: Dict[str, Any]) -> Any:
        if method == "describe":
            return self.describe()
        if method == "perform":
            return self._perform(params)
        if method == "read":
            value = self._done(self.temperature())  # type: ignore[attr-defined]
            value, target = value if isinstance(value, tuple) else (value, None)
            return {"value": value, "target": target}
        if method == "end":
            return {"seconds_left": self._done(self.end(params["operation_id"])) or 0}
        if method == "initialize":
            self._alone(self.initialize)
            return {}
        if method in ("check", "halt"):
            self._done(getattr(self, method)())
            return {}
        raise Invalid(f"there is no method {method}")

    def _perform(self, params: Dict[str, Any]) -> Dict[str, Any]:
        method = getattr(self, params["operation"], None)
        if not hasattr(method, "__bridge__"):
            raise Invalid(f"there is no operation {params['operation']}")
        return {"data": self._alone(lambda: method(**params["params"]), params["operation_id"])}

    def _alone(self, call: Callable[[], Any], operation_id: Optional[str] = None) -> Any:
        # What was halted ends in its own thread, a moment after the halt was answered.
        if not self._moving.acquire(timeout=2):
            raise Busy("what was halted before has not ended yet", hint="try again in a moment")
        try:
            self.operation_id = operation_id
            return self._done(call())
        finally:
            self.operation_id = None
            self._moving.release()

    def _done(self, result: Any) -> Any:
        """Waits for what an `async` method does."""
        if not inspect.isawaitable(result):
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

    def _say(self, text: str) -> None:
        rest = memoryview((text + "\n").encode())
        with self._writing:
            while rest:
                rest = rest[os.write(self._out, rest) :]


class _Turn:
    """The turn of a thread at reading."""

    question = 0
    is_answering = False


_decode = json.JSONDecoder().decode
_encode = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode


def _failure(message: str, reason: str, hint: Optional[str]) -> Dict[str, Any]:
    return {"code": -32000, "message": message, "data": {"reason": reason, "hint": hint}}


_TYPES = {int: "integer", float: "number", str: "string", bool: "boolean"}


def _schema(method: Callable, units: Dict[str, str], minimum: Dict[str, float], maximum: Dict[str, float]) -> Dict[str, Any]:
    try:
        hints = typing.get_type_hints(method)
    except NameError:
        hints = {}
    properties: Dict[str, Any] = {}
    required = []
    for name, parameter in list(inspect.signature(method).parameters.items())[1:]:
        properties[name] = _property(method, name, hints.get(name, parameter.annotation))
        extra = (("unit", units), ("minimum", minimum), ("maximum", maximum))
        properties[name].update({word: values[name] for word, values in extra if name in values})
        if parameter.default is inspect.Parameter.empty:
            required.append(name)
        elif parameter.default is not None:
            properties[name]["default"] = parameter.default
    return {"type": "object", "properties": properties, "required": required}


def _property(method: Callable, name: str, annotation: Any) -> Dict[str, Any]:
    choices = typing.get_args(annotation)
    if typing.get_origin(annotation) is typing.Literal:
        return {"type": _TYPES[type(choices[0])], "enum": list(choices)}
    if typing.get_origin(annotation) is Union:
        [annotation] = [choice for choice in choices if choice is not type(None)] if len(choices) == 2 else [annotation]
    if annotation in _TYPES:
        return {"type": _TYPES[annotation]}
    raise TypeError(f"{method.__name__}: the parameter {name} must be annotated with int, float, str, bool or Literal, not {annotation}")
