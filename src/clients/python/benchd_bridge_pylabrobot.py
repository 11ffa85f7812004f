"""Devices of PyLabRobot as devices of the bench: https://<bench>/clients/benchd_bridge_pylabrobot.py, beside benchd_bridge.py.

    python3 benchd_bridge.py pylabrobot pylabrobot.qinstruments.BioShake3000 name=shaker port=/dev/ttyUSB0

makes the methods of that class operations of a device.
"""

# Whoever checks a program with types checks this file too: PyLabRobot is not there then.
# mypy: disable-error-code="no-any-return"
# pyright: basic

from __future__ import annotations

import asyncio
import functools
import importlib
import inspect
import json
import os
import re
import sys
import time
from typing import Any, Callable, Dict, List, Optional, Set, Tuple

from benchd_bridge import Bridge, Busy, DeviceFailed, operation
from benchd_bridge import _encode, _schema, _summary, _words  # pyright: ignore[reportPrivateUsage]

__all__ = ["main", "pylabrobot_bridge"]


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


def _plain(value: Any) -> Any:
    """What can be written as JSON: a method may return an object that only Python knows."""
    try:
        _encode(value)
        return value
    except (TypeError, ValueError):
        return str(value)


def main(words: List[str]) -> None:
    usage = (
        "usage: python3 benchd_bridge.py pylabrobot BACKEND [NAME=VALUE …] [--type WORD] [--check METHOD] [--seconds METHOD=S …] [--open MM --closed MM]; "
        "BACKEND is package.module.Class, and an arm needs the widths to which its gripper opens and closes"
    )
    if not words:
        sys.exit(usage)
    seconds: Dict[str, float] = {}
    type_: Optional[str] = None
    check: Optional[str] = None
    given: Dict[str, Any] = {}
    widths: Dict[str, float] = {}
    rest = iter(words[1:])
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
    module, _, class_ = words[0].rpartition(".")
    try:
        backend = getattr(importlib.import_module(module), class_)(**given)
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        sys.exit(f"{words[0]} cannot be made: {error}; is PyLabRobot installed for {sys.executable}?")
    try:
        arm = importlib.import_module("benchd_bridge_arms").arm_of(backend, widths.get("--open"), widths.get("--closed"))
    except ValueError as error:
        sys.exit(f"{words[0]}: {error}")
    if arm is not None:
        arm.serve()
    try:
        bridge = pylabrobot_bridge(backend, seconds, type_, check)
    except ValueError as error:
        sys.exit(f"{words[0]}: {error}; name another one: --check METHOD")
    bridge.serve()


def _value(text: str) -> Any:
    """A number, true, false or null as JSON has it; anything else is text."""
    try:
        return json.loads(text)
    except ValueError:
        return text

