"""Arms of PyLabRobot as transporters of the bench: https://<bench>/clients/benchd_bridge_arms.py, beside benchd_bridge.py."""

# Whoever checks a program with types checks this file too: PyLabRobot is not there then.
# mypy: disable-error-code="no-any-return"
# pyright: basic

from __future__ import annotations

import asyncio
import importlib
import math
from typing import Any, Dict, List, Optional, Set, Tuple

from benchd_bridge import DeviceFailed, Interlock, Invalid, Labware, Point, Spot, Transporter, Where, operation
from benchd_bridge import _words  # pyright: ignore[reportPrivateUsage]

__all__ = ["PreciseFlex"]


class PreciseFlex(Transporter):
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
