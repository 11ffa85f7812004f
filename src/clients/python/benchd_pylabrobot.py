"""Devices of a bench in PyLabRobot: one plain class for each device, and backends for PyLabRobot's older frontends.

    curl -O http://bench-1.local:8520/clients/benchd.py
    curl -O http://bench-1.local:8520/clients/benchd_pylabrobot.py

`BenchdDevice` is a class in PyLabRobot's newer style. After `setup()` it has a method for each operation of its device:

    from benchd_pylabrobot import BenchdDevice

    sealer = BenchdDevice("sealer-1")          # the bench of the environment, as `Bench.from_env()`
    await sealer.setup()                       # initializes the device, which may move
    await sealer.seal(temperature=170, duration=3)
    print(await sealer.request_temperature())
    await sealer.stop()                        # leaves the device as it is

The other classes are backends:

    from benchd_pylabrobot import BenchdShaker
    from pylabrobot.resources import Coordinate
    from pylabrobot.legacy.shaking import Shaker   # 0.2.0 and 0.2.1: pylabrobot.shaking

    shaker = Shaker(name="shaker", size_x=0, size_y=0, size_z=0, backend=BenchdShaker("shaker-1"), child_location=Coordinate.zero())
    await shaker.setup()
    await shaker.shake(speed=500, duration=10)
    await shaker.stop()

Every method raises the errors of `benchd`. `NotImplementedError` says what benchd does by itself or has no operation for.
The backends follow the interfaces of PyLabRobot 0.2.0, 0.2.1 and 0.2.2. Without PyLabRobot all classes can be used alone.
"""

# Whoever checks a program with types checks this file too: what the bench answers is JSON.
# mypy: disable-error-code="no-any-return, misc"
# pyright: basic

from __future__ import annotations

import inspect
from importlib import import_module
from typing import Any, Callable, Dict, List, Optional
from urllib.parse import quote

from benchd import OPERATIONS, READINGS, Bench, DeviceFailed, Operation, _in_thread

__all__ = [
    "BenchdCentrifuge",
    "BenchdDevice",
    "BenchdHeaterShaker",
    "BenchdPeeler",
    "BenchdSealer",
    "BenchdShaker",
    "BenchdTemperatureController",
]


#: A shaker that does not say for how long it can shakes for a day.
_LONGEST_S = 86_400.0


def _interface(room: str, name: str) -> type:
    """PyLabRobot's class of that name; `object` where there is no PyLabRobot."""
    for package in ("pylabrobot.legacy", "pylabrobot"):
        try:
            return getattr(import_module(f"{package}.{room}.backend"), name)
        except (ImportError, AttributeError):
            continue
    return object


class _Backend:
    """A device of a bench. `bench` is that of the environment when it is left out."""

    def __init__(self, device_id: str, bench: Optional[Bench] = None) -> None:
        super().__init__()
        self.device_id = device_id
        self._device = (bench or Bench.from_env())[device_id]
        self._known: Dict[str, Any] = {}

    async def setup(self, **_: Any) -> None:
        """Initializes the device, unless it is ready or at work."""
        if (await _in_thread(self._device.info))["state"] not in ("ready", "busy"):
            await _in_thread(self._device.initialize)
        await _in_thread(self._capabilities)

    async def stop(self) -> None:
        """Ends nothing: the device goes on, and stays initialized."""

    def serialize(self) -> Dict[str, Any]:
        """Its class and its device; where the bench is, and its key, stand in the environment."""
        return {"type": type(self).__name__, "device_id": self.device_id}

    def _capabilities(self) -> Dict[str, Any]:
        """Asks the bench once. Before `setup()` a property has to wait for that, and nothing else of the event loop goes on meanwhile."""
        self._known = self._known or self._device.capabilities()
        return self._known

    def _operations(self) -> Dict[str, Any]:
        return {each["name"]: each for each in self._capabilities()["operations"]}

    async def _perform(self, name: str, **params: Any) -> Any:
        """Performs an operation of the bench, or one that only the program behind the device describes. Returns the `data` of its answer."""
        if name in OPERATIONS:
            return (await _in_thread(getattr(self._device, name), **params)).get("data")
        return (await _in_thread(self._device.perform, name, **params)).get("data")


class BenchdDevice(_Backend):
    """A device of a bench as one plain class, for any type of device.

    `setup()` gives it a method for each operation of the device: `help(device.shake)` shows the parameters, with units and limits. A method waits
    until the operation is done, and returns the values that came of it, or None. `request_temperature()` and `request_pose()` exist where the device has them.
    """

    async def setup(self, **_: Any) -> None:
        """Initializes the device, unless it is ready or at work, and asks the bench for its operations."""
        await super().setup()
        for name, operation in self._operations().items():
            if name not in _NOT_METHODS:
                setattr(self, name, _method(self, operation))
        for name, (question, value) in _QUESTIONS.items():
            if question in self._operations():
                setattr(self, name, _asking(self, name, question, value))

    async def halt(self) -> None:
        """Stops the device at once. It stays stopped until `setup()`. Raises `DeviceFailed` when the device did not confirm the stop."""
        answer = await _in_thread(self._device.stop)
        if not answer["success"]:
            raise DeviceFailed(f"{self.device_id} did not confirm the stop: {answer['message']}")

    async def request_reading(self, reading: str) -> float:
        """Returns the value of a reading that the program behind the device describes."""
        path = f"/api/devices/{quote(self.device_id, safe='')}/readings/{quote(reading, safe='')}"
        return (await _in_thread(self._device._bench.request, "GET", path))["value"]

    def __getattr__(self, name: str) -> Any:
        known = [each for each in self.__dict__.get("_known", {"operations": ()}).get("operations", ())]
        if name.startswith("_") or not known:
            raise AttributeError(f"there is no {name!r} yet: call `await setup()`, which asks the bench for the operations of the device")
        others = sorted({each["name"] for each in known} - _NOT_METHODS | {"halt", "request_reading", "setup", "stop"})
        raise AttributeError(f"{self.device_id} has no {name!r}; it has {', '.join(others)}")


#: Operations of the bench that are other methods here (`setup`, `halt` and those of `_QUESTIONS`), or last only while a person holds a button.
_NOT_METHODS = {"initialize", "stop", "initialized", "get_temperature", "pose", "jog", "free_drive"}
#: By the name of the method: the question of the bench, and the member of its answer.
_QUESTIONS = {"request_temperature": ("get_temperature", "temperature"), "request_pose": ("pose", "coords")}
_TYPES = {"integer": int, "number": float, "string": str, "boolean": bool}


def _method(device: BenchdDevice, operation: Dict[str, Any]) -> Callable[..., Any]:
    """Makes an operation, as the bench describes it, a method with that signature."""
    name, described = operation["name"], operation["params"]
    parameters = [
        inspect.Parameter(
            each,
            inspect.Parameter.POSITIONAL_OR_KEYWORD,
            default=inspect.Parameter.empty if each in described["required"] else about.get("default"),
            annotation=_annotation(about["type"]),
        )
        for each, about in described["properties"].items()
    ]
    # A parameter with a default may not come before one without.
    parameters.sort(key=lambda each: each.default is not inspect.Parameter.empty)
    signature = inspect.Signature(parameters)

    async def call(*args: Any, **kwargs: Any) -> Any:
        return await device._perform(name, **signature.bind(*args, **kwargs).arguments)

    lines = [f"  {each}: {_words(about)}" for each, about in described["properties"].items()]
    summary = operation.get("summary") or OPERATIONS.get(name) or name
    call.__name__ = call.__qualname__ = name
    call.__doc__ = "\n".join([f"{summary}.", *(["", "Args:", *lines] if lines else [])])
    call.__signature__ = signature  # type: ignore[attr-defined]
    return call


def _asking(device: BenchdDevice, name: str, question: str, value: str) -> Callable[..., Any]:
    async def call() -> Any:
        return (await _in_thread(getattr(device._device, question)))[value]

    call.__name__ = call.__qualname__ = name
    call.__doc__ = READINGS[question]
    return call


def _annotation(told: Any) -> Any:
    """Returns the annotation for the `type` of a parameter in JSON Schema."""
    names: List[str] = told if isinstance(told, list) else [told]
    types = [_TYPES.get(each, Any) for each in names if each != "null"]
    annotation: Any = types[0] if len(types) == 1 else Any
    return Optional[annotation] if "null" in names else annotation


def _words(about: Dict[str, Any]) -> str:
    """Describes a parameter in words: what it is, and its limits with their unit."""
    limits = [f"{word} {about[key]:g}" for key, word in (("minimum", "at least"), ("maximum", "at most")) if key in about]
    unit = f" {about['unit']}" if about.get("unit") else ""
    choices = [f"one of {', '.join(map(str, about['enum']))}"] if "enum" in about else []
    said = ", ".join([*limits, *choices])
    return ": ".join(each for each in (about.get("description", ""), said + unit if said else unit.strip()) if each) or "no limits"


class _Shaking(_Backend):
    _shaking: Optional[Operation] = None
    _speed = 0.0

    async def start_shaking(self, speed: float) -> None:
        """Shakes at `speed` rpm until `stop_shaking`, or for the longest time that the shaker takes. When the instrument refuses to shake, `stop_shaking` raises."""
        await self._end_shaking()
        limits = (await _in_thread(self._capabilities))["limits"]
        longest_s = limits.get("duration", {}).get("max", _LONGEST_S)
        self._shaking, self._speed = await _in_thread(self._device.shake.start, speed=speed, duration=longest_s), speed

    async def shake(self, speed: float) -> None:
        """As `start_shaking`."""
        await self.start_shaking(speed)

    async def stop_shaking(self) -> None:
        """Ramps down and waits until the plate stands still. Raises `DeviceFailed` when the shaking failed or was stopped."""
        await self._end_shaking()

    async def _end_shaking(self) -> None:
        shaking, self._shaking = self._shaking, None
        if shaking is not None:
            await _in_thread(shaking.end)
            await _in_thread(shaking.wait)

    @property
    def supports_locking(self) -> bool:
        """Whether the bench can lock its plate. PyLabRobot's `shake` locks first if so."""
        return "lock_plate" in self._operations()

    async def lock_plate(self) -> None:
        await _in_thread(self._device.lock_plate)

    async def unlock_plate(self) -> None:
        await _in_thread(self._device.unlock_plate)


class _Heating(_Backend):
    @property
    def supports_active_cooling(self) -> bool:
        """Whether its model cools, as the driver knows."""
        return bool(self._capabilities()["features"].get("cooling", False))

    async def set_temperature(self, temperature: float) -> None:
        """Sets it, in °C, and does not wait until it is reached."""
        await self._set(temperature)

    async def _set(self, temperature: Optional[float]) -> None:
        await _in_thread(self._device.set_temperature, temperature=temperature)

    async def get_current_temperature(self) -> float:
        """In °C."""
        return (await _in_thread(self._device.temperature))["temperature"]

    async def deactivate(self) -> None:
        """Switches the heater off, and nothing else. A device that cannot do that goes to its lowest set point."""
        await self._set(None)


class BenchdShaker(_Shaking, _interface("shaking", "ShakerBackend")):
    """A shaker."""


class BenchdTemperatureController(_Heating, _interface("temperature_controlling", "TemperatureControllerBackend")):
    """What heats."""


class BenchdHeaterShaker(_Shaking, _Heating, _interface("heating_shaking", "HeaterShakerBackend")):
    """A shaker that heats. A device of a bench does one thing at a time: while it shakes, a new temperature interrupts the shaking for a moment."""

    async def _set(self, temperature: Optional[float]) -> None:
        is_shaking = self._shaking is not None
        try:
            await self._end_shaking()
        finally:
            # The heater must not stay on because the shaking had failed.
            await super()._set(temperature)
        if is_shaking:
            await self.start_shaking(self._speed)


class BenchdSealer(_Backend, _interface("sealing", "SealerBackend")):
    """A sealer."""

    async def seal(self, temperature: int, duration: float) -> None:
        """Seals at `temperature` °C for `duration` s, and waits until it is done."""
        await _in_thread(self._device.seal, temperature=temperature, duration=duration)

    async def open(self) -> None:
        await _in_thread(self._device.open)

    async def close(self) -> None:
        await _in_thread(self._device.close)

    async def set_temperature(self, temperature: float) -> None:
        """Sets it, in °C, and does not wait until it is reached."""
        await _in_thread(self._device.set_temperature, temperature=temperature)

    async def get_temperature(self) -> float:
        """In °C."""
        return (await _in_thread(self._device.temperature))["temperature"]


class BenchdCentrifuge(_Backend, _interface("centrifuge", "CentrifugeBackend")):
    """A centrifuge, whose door and buckets benchd locks by itself."""

    async def open_door(self) -> None:
        await _in_thread(self._device.open)

    async def close_door(self) -> None:
        await _in_thread(self._device.close)

    async def lock_door(self) -> None:
        raise NotImplementedError("benchd locks the door by itself before it spins")

    async def unlock_door(self) -> None:
        raise NotImplementedError("benchd unlocks the door by itself: call open_door")

    async def lock_bucket(self) -> None:
        raise NotImplementedError("benchd locks the buckets by itself before it opens the door")

    async def unlock_bucket(self) -> None:
        raise NotImplementedError("benchd unlocks the buckets by itself before it spins")

    async def go_to_bucket1(self) -> None:
        raise NotImplementedError("benchd has no operation that turns a bucket to the door: it does so in a workflow")

    async def go_to_bucket2(self) -> None:
        raise NotImplementedError("benchd has no operation that turns a bucket to the door: it does so in a workflow")

    async def spin(
        self, g: float, duration: float, acceleration: Optional[float] = None, *, deceleration: Optional[float] = None
    ) -> None:
        """Spins at `g` ×g for `duration` s, and waits until it stands still. Raises `NotImplementedError`, and does not spin, when the device takes no
        `acceleration` or `deceleration`: benchd's own drivers have them in their settings. A device of a bridge that has `spin` may take them.
        """
        operations = await _in_thread(self._operations)
        name = "centrifuge" if "centrifuge" in operations else "spin"
        given = {"acceleration": acceleration, "deceleration": deceleration}
        ramps = {each: value for each, value in given.items() if value is not None}
        unknown = [each for each in ramps if each not in operations.get(name, {"params": {"properties": ()}})["params"]["properties"]]
        if unknown:
            words = " and ".join(unknown)
            raise NotImplementedError(
                f"{self.device_id} takes no {words} with a spin: leave it out here, and set {words} of the device in the configuration of the bench, if its driver has it"
            )
        await self._perform(name, g=g, duration=duration, **ramps)


class BenchdPeeler(_Backend, _interface("peeling", "PeelerBackend")):
    """A peeler."""

    async def peel(self, **params: int) -> None:
        """Peels, and waits until it is done. `parameter_set` and `adhere` are those of the bench, and may be left out."""
        await _in_thread(self._device.peel, **params)

    async def restart(self) -> None:
        """Initializes it again."""
        await _in_thread(self._device.initialize)
