"""Backends of PyLabRobot for the devices of a bench: a shaker, heater, sealer, centrifuge or peeler that benchd drives.

    curl -O http://bench-1.local:8520/clients/benchd.py
    curl -O http://bench-1.local:8520/clients/benchd_pylabrobot.py

    from benchd import Bench
    from benchd_pylabrobot import BenchdShaker
    from pylabrobot.resources import Coordinate
    from pylabrobot.shaking import Shaker

    backend = BenchdShaker("shaker-1", Bench.from_env())
    shaker = Shaker(name="shaker", size_x=0, size_y=0, size_z=0, backend=backend, child_location=Coordinate.zero())
    await shaker.setup()                       # initializes the device, which may move
    await shaker.shake(speed=500, duration=10)
    await shaker.stop()                        # leaves the device as it is

Every method raises the errors of `benchd`. `NotImplementedError` says what benchd does by itself or has no operation for.
The classes follow PyLabRobot's interfaces of 0.2, by their names and parameters. Without PyLabRobot they can be used alone.
"""

# Whoever checks a program with types checks this file too: what the bench answers is JSON.
# mypy: disable-error-code="no-any-return, misc"
# pyright: basic

from __future__ import annotations

from importlib import import_module
from typing import Any, Dict, Optional

from benchd import Bench, Operation, _in_thread

__all__ = ["BenchdCentrifuge", "BenchdHeaterShaker", "BenchdPeeler", "BenchdSealer", "BenchdShaker", "BenchdTemperatureController"]


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

    async def setup(self, **_: Any) -> None:
        """Initializes the device, unless it is ready or at work."""
        if (await _in_thread(self._device.info))["state"] not in ("ready", "busy"):
            await _in_thread(self._device.initialize)

    async def stop(self) -> None:
        """Ends nothing: the device goes on, and stays initialized."""

    def serialize(self) -> Dict[str, Any]:
        """Its class and its device; where the bench is, and its key, stand in the environment."""
        return {"type": type(self).__name__, "device_id": self.device_id}


class _Shaking(_Backend):
    _shaking: Optional[Operation] = None
    _longest_s: Optional[float] = None

    async def start_shaking(self, speed: float) -> None:
        """Shakes at `speed` rpm until `stop_shaking`, or for the longest time that the shaker takes."""
        await self._end_shaking()
        if self._longest_s is None:
            self._longest_s = (await _in_thread(self._device.capabilities))["limits"]["duration"]["max"]
        self._shaking = await _in_thread(self._device.shake.start, speed=speed, duration=self._longest_s)

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
        """Always: a shaker that cannot lock answers `lock_plate` with what it can."""
        return True

    async def lock_plate(self) -> None:
        await _in_thread(self._device.lock_plate)

    async def unlock_plate(self) -> None:
        await _in_thread(self._device.unlock_plate)


class _Heating(_Backend):
    _cools: Optional[bool] = None

    @property
    def supports_active_cooling(self) -> bool:
        """Whether its model cools, as the driver knows. The bench is asked once, and while this waits nothing else of the event loop goes on."""
        if self._cools is None:
            self._cools = bool(self._device.capabilities()["features"].get("cooling", False))
        return self._cools

    async def set_temperature(self, temperature: float) -> None:
        """Sets it, in °C, and does not wait until it is reached."""
        await _in_thread(self._device.set_temperature, temperature=temperature)

    async def get_current_temperature(self) -> float:
        """In °C."""
        return (await _in_thread(self._device.temperature))["temperature"]

    async def deactivate(self) -> None:
        """Switches the heater off, and nothing else. A device that cannot do that goes to its lowest set point."""
        await _in_thread(self._device.set_temperature, temperature=None)


class BenchdShaker(_Shaking, _interface("shaking", "ShakerBackend")):
    """A shaker."""


class BenchdTemperatureController(_Heating, _interface("temperature_controlling", "TemperatureControllerBackend")):
    """What heats."""


class BenchdHeaterShaker(_Shaking, _Heating, _interface("heating_shaking", "HeaterShakerBackend")):
    """A shaker that heats."""


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
        """Spins at `g` ×g for `duration` s, and waits until it stands still. Those of the device's settings are used for `acceleration` and `deceleration`, whatever is given."""
        await _in_thread(self._device.centrifuge, g=g, duration=duration)


class BenchdPeeler(_Backend, _interface("peeling", "PeelerBackend")):
    """A peeler."""

    async def peel(self) -> None:
        """Peels with the usual parameters, and waits until it is done."""
        await _in_thread(self._device.peel)

    async def restart(self) -> None:
        """Initializes it again."""
        await _in_thread(self._device.initialize)
