"""Devices of a bench as drivers for Orca: a shaker, a sealer, a centrifuge, and the workflows of the bench as a protocol runner.

    curl -O http://bench-1.local:8520/clients/benchd.py
    export BENCHD_URL=http://bench-1.local:8520 BENCHD_API_KEY=bk_...

    from orca_driver import BenchSealer, BenchShaker
    shaker = Shaker("shaker", BenchShaker("shaker-1"))     # Orca's device, with a driver of the bench
    sealer = Sealer("sealer", BenchSealer("sealer-1"))

A failed operation raises the error of the bench, with its sentence. A cancelled call ends its operation: in an orderly way where the device can, else by a stop.

The drivers follow two interfaces of cheshire-drivers, the driver layer of Orca: 0.1.0 (commit e315bf7 of 2026-07-01), whose methods take values, and
a later one (commit 516f1ff of 2026), whose methods take one request object, such as `ShakeRequest(speed=500, duration=10)`.
"""

from __future__ import annotations

import asyncio
from importlib import import_module
from typing import Any, Dict, List, Optional

from benchd import AsyncBench, BenchError, Busy, Locked, OutcomeUnknown, Refused, Unreachable
from cheshire_drivers.interfaces import ICentrifugeDriver, IProtocolRunnerDriver, ISealerDriver, IShakerDriver, ITempGettableDriver, ITempSettableDriver

#: The later interface has classes of errors, by which Orca decides whether it asks again. Any other error means that somebody has to look.
_ERRORS = {Busy: "DriverRefusedError", Locked: "DriverRefusedError", Refused: "DriverRejectedError", OutcomeUnknown: "DriverOutcomeUnknownError"}


def _driver_error(error: BenchError) -> Exception:
    try:
        errors = import_module("cheshire_drivers.driver_errors")
    except ImportError:
        return error
    then = "; see that it is safe, then initialize the device" if error.reason == "stopped" else ""
    found: Exception = getattr(errors, _ERRORS.get(type(error), "DriverError"))(f"{error}{then}")
    return found


#: Seconds within which an operation that was ended in an orderly way must have ended. Else the device is stopped.
END_WITHIN_S = 300


async def _waited(begun: Any, **how: Any) -> Any:
    """Waits for the end of an operation or a run, also while the bench does not answer: it goes on then."""
    while True:
        try:
            return await begun.wait(**how)
        except Unreachable:
            await asyncio.sleep(1)


def _values(names: List[str], given: tuple[Any, ...], named: Dict[str, Any]) -> Dict[str, Any]:
    """Returns the values of a call by their names: those of one request object, or those that the call gives."""
    if len(given) == 1 and hasattr(given[0], names[0]):
        return {name: getattr(given[0], name) for name in names}
    return {**dict(zip(names, given)), **named}


class _BenchDriver:
    """A device of a bench. `bench` is that of the environment when it is left out."""

    def __init__(self, device_id: str, bench: Optional[AsyncBench] = None) -> None:
        self.device_id = device_id
        self._bench = bench or AsyncBench.from_env()
        self._device = self._bench[device_id]
        self._is_initialized = False

    @property
    def name(self) -> str:
        return self.device_id

    @property
    def is_initialized(self) -> bool:
        """Whether `initialize` has succeeded, and no operation has failed or was stopped since."""
        return self._is_initialized

    async def initialize(self) -> None:
        """Initializes the device. It may move. Raises where a person has to look at the device first."""
        await self._perform("initialize")
        self._is_initialized = True

    async def open(self) -> None:
        """Opens the door. A device without a door stays as it is."""
        await self._perform_if_known("open")

    async def close(self) -> None:
        await self._perform_if_known("close")

    async def stop(self) -> None:
        """Stops the device at once. It stays stopped until `initialize`."""
        self._is_initialized = False
        answer = await self._device.stop()
        if not answer["success"]:
            raise RuntimeError(f"{self.device_id} did not confirm the stop: {answer['message']}. Look at the device.")

    async def set_temperature(self, temperature: float) -> None:
        """Sets the target in °C, and does not wait until it is reached."""
        await self._perform("set_temperature", temperature=temperature)

    async def get_temperature(self) -> float:
        """Returns the temperature in °C."""
        try:
            return float((await self._device.temperature())["temperature"])
        except BenchError as error:
            raise _driver_error(error) from error

    async def _perform_if_known(self, operation: str) -> None:
        if any(each["name"] == operation for each in (await self._device.capabilities())["operations"]):
            await self._perform(operation)

    async def _perform(self, operation: str, **params: Any) -> None:
        """Performs an operation and waits for its end. The request is finished before a cancellation, so that no operation begins unseen."""
        starting = asyncio.ensure_future(getattr(self._device, operation).start(**params))
        try:
            await _waited(await asyncio.shield(starting))
        except asyncio.CancelledError:
            await asyncio.shield(self._end(starting))
            raise
        except BenchError as error:
            self._is_initialized = self._is_initialized and isinstance(error, (Busy, Locked, Refused)) and error.reason != "not_initialized"
            raise _driver_error(error) from error

    async def _end(self, starting: "asyncio.Future[Any]") -> None:
        """Ends the operation of a cancelled call. Stops the device where that fails. Raises where the stop fails too: the device may go on."""
        try:
            running = await starting
        except (Busy, Locked, Refused, Unreachable):
            # Nothing has begun.
            return
        except BenchError:
            await self._stopped()
            return
        try:
            await running.end()
            await running.wait(END_WITHIN_S)
        except (BenchError, TimeoutError):
            await self._stopped()

    async def _stopped(self) -> None:
        try:
            await self.stop()
        except BenchError as error:
            raise _driver_error(error) from error


class BenchShaker(_BenchDriver, IShakerDriver, ITempSettableDriver, ITempGettableDriver):
    """A shaker. As Orca's own drivers of shakers do, `open` unlocks the plate and `close` locks it."""

    interfaces = frozenset({"IShaker", "ITempSettable", "ITempGettable"})
    #: Orca reads this without waiting. Set it to False for a shaker without a lock.
    supports_locking = True

    async def open(self) -> None:
        await (self._perform("unlock_plate") if self.supports_locking else self._perform_if_known("open"))

    async def close(self) -> None:
        await (self._perform("lock_plate") if self.supports_locking else self._perform_if_known("close"))

    async def lock_plate(self, *_: Any) -> None:
        await self._perform("lock_plate")

    async def unlock_plate(self, *_: Any) -> None:
        await self._perform("unlock_plate")

    async def shake(self, *values: Any, **named: Any) -> None:
        """Shakes at `speed` rpm for `duration` s, and waits until the plate stands still."""
        await self._perform("shake", **_values(["speed", "duration"], values, named))

    async def stop_shaking(self, *_: Any) -> None:
        """Ends the shaking in an orderly way. The call of `shake` returns then."""
        try:
            operation = (await self._device.info())["operation"]
            if operation is not None and operation["name"] == "shake":
                await self._bench.request("DELETE", f"/api/operations/{operation['operation_id']}")
        except BenchError as error:
            raise _driver_error(error) from error


class BenchSealer(_BenchDriver, ISealerDriver, ITempSettableDriver, ITempGettableDriver):
    """A sealer."""

    interfaces = frozenset({"ISealer", "ITempSettable", "ITempGettable"})

    async def seal(self, *values: Any, **named: Any) -> None:
        """Seals at `temperature` °C for `duration` s."""
        await self._perform("seal", **_values(["temperature", "duration"], values, named))


class BenchCentrifuge(_BenchDriver, ICentrifugeDriver):
    """A centrifuge, whose door and buckets benchd locks by itself."""

    async def centrifuge(self, *values: Any, **named: Any) -> None:
        """Spins at `g` ×g for `duration` s, and waits until the rotor stands still."""
        await self._perform("centrifuge", **_values(["g", "duration"], values, named))


class BenchWorkflows(IProtocolRunnerDriver):
    """The workflows of a bench. A run moves its labware with the arms of the bench, so Orca moves nothing meanwhile."""

    def __init__(self, bench: Optional[AsyncBench] = None) -> None:
        self._bench = bench or AsyncBench.from_env()

    is_initialized = True

    async def initialize(self) -> None:
        """Does nothing: a run refuses a device that is not initialized."""

    async def open(self) -> None: ...

    async def close(self) -> None: ...

    async def prepare_for_place(self, *_: Any) -> None: ...

    async def notify_placed(self, *_: Any) -> None: ...

    async def prepare_for_pick(self, *_: Any) -> None: ...

    async def notify_picked(self, *_: Any) -> None: ...

    async def run_protocol(self, *values: Any, **named: Any) -> None:
        """Starts the workflow with the name `protocol_filepath` and the variables `params`, and waits until it has ended. Raises as soon as an error holds it."""
        asked = _values(["protocol_filepath", "params"], values, named)
        starting = asyncio.ensure_future(self._bench.submit(asked["protocol_filepath"], variables=asked.get("params") or {}))
        try:
            run = await asyncio.shield(starting)
            info = await _waited(run, until_held=True)
        except asyncio.CancelledError:
            try:
                await asyncio.shield((await starting).stop())
            except Refused:
                # The bench did not begin the operation, or the operation has ended.
                pass
            except BenchError as error:
                # Orca must not take the run for aborted.
                raise _driver_error(error) from error
            raise
        except BenchError as error:
            raise _driver_error(error) from error
        if info["status"] != "COMPLETED":
            problems = "; ".join(f"{one['thread_name']}: {one['last_error']}" for one in info["threads"] if one["last_error"]) or info["reason"] or ""
            held = "is held by an error" if info["ended_at"] is None else f"ended as {info['status']}"
            raise RuntimeError(f"The run {run.execution_id[:8]} of {info['workflow_name']} {held}. {problems.rstrip('.')}. Decide about it at the bench.")
