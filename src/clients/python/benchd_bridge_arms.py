"""Arms of PyLabRobot as transporters of the bench: https://<bench>/clients/benchd_bridge_arms.py, beside benchd_bridge.py."""

# Whoever checks a program with types checks this file too: PyLabRobot is not there then.
# mypy: disable-error-code="no-any-return"
# pyright: basic

from __future__ import annotations

import asyncio
import importlib
import math
import sys
from typing import Any, Dict, List, Optional, Set, Tuple, Type

from benchd_bridge import DeviceFailed, Interlock, Invalid, Labware, Point, Spot, Transporter, Where, operation
from benchd_bridge import _words  # pyright: ignore[reportPrivateUsage]

__all__ = ["PreciseFlex", "XArm6", "arm_of"]


class _Arm(Transporter):
    """An arm of PyLabRobot. Its class says how it is connected, moved and stopped; all else is the same for each arm."""

    type = "transporter"
    #: The numbers of the joints that can be jogged.
    joints: Dict[str, int] = {}
    #: Where the library or the controller says by a number that a point is out of reach: the attribute of its errors, and the numbers.
    out_of_reach: Tuple[str, Set[int]] = ("", set())

    def __init__(self, arm: Any, open_mm: float, closed_mm: float) -> None:
        self.arm, self.open_mm, self.closed_mm = arm, open_mm, closed_mm
        self.is_homed = self.is_halted = self.is_free = False
        #: Whether the gripper was closed on something, or opened; None while nobody knows it.
        self.is_gripping: Optional[bool] = None
        self.moves = 0
        self.tasks: Set[Any] = set()

    def _is_connected(self) -> bool:
        raise NotImplementedError

    async def _open_anew(self) -> None:
        """Closes the connection, opens it, and makes the arm ready for moves."""
        raise NotImplementedError

    async def _reconnect(self) -> None:
        """Closes the connection and opens it, and changes nothing else."""
        raise NotImplementedError

    async def _stop_motion(self) -> None:
        """Stops the arm past everything, and ends what waits for it. Raises when the arm does not confirm it."""
        raise NotImplementedError

    async def _end_free_drive(self) -> None:
        """Ends free drive after `_stop_motion`."""
        raise NotImplementedError

    async def _is_well(self) -> bool:
        """Asks whether the arm can move. Is answered during a move, too."""
        raise NotImplementedError

    async def _joints(self) -> List[float]:
        """Returns where the axes are, also while they move."""
        raise NotImplementedError

    async def _pose(self) -> Dict[str, float]:
        raise NotImplementedError

    async def _move(self, pose: Dict[str, float], elbow: Optional[str], speed: Optional[float]) -> None:
        raise NotImplementedError

    async def _move_joints(self, position: Dict[int, float], speed: Optional[float]) -> None:
        raise NotImplementedError

    async def _arrives(self) -> None:
        """Waits until the arm has come to where it was sent, if its moves do not wait for that themselves."""

    async def _settle(self) -> None:
        """Ends a movement that a person leads: waits until no axis moves, likewise."""

    def _ahead(self, spot: Spot) -> Tuple[float, float]:
        """Returns the horizontal direction into which the gripper points at a spot. Raises `Invalid` if it points into none."""
        raise NotImplementedError

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
        self.is_homed = self.is_halted = False
        await self._open_anew()
        self.is_homed = True

    async def pick(self, labware: Labware, position: str, point: Point) -> None:
        if self.is_gripping is None and not await self.arm.is_gripper_closed():
            raise Interlock("nobody knows whether its gripper holds something", hint="look, and perform open_gripper")
        self._must_be_reachable(point)
        await self._working(self._pick(point), is_move=True)

    async def _pick(self, point: Point) -> None:
        await self._grip(False)
        await self._visit(point, True)

    async def place(self, labware: Labware, position: str, point: Point) -> None:
        self._must_be_reachable(point)
        await self._working(self._visit(point, False), is_move=True)

    @operation(seconds=5, leaves_on=None)
    async def open_gripper(self) -> None:
        """Open the gripper, which lets fall what it holds"""
        await self._working(self._grip(False), is_move=True)

    async def jog(self, axis: str, by: float, speed: float) -> None:
        await self._working(self._jog(axis, by, speed), is_move=True)

    async def _jog(self, axis: str, by: float, speed: float) -> None:
        number = self.joints.get(axis)
        try:
            if number is not None:
                at = await self.arm.request_joint_position()
                await self._move_joints({**{each: at[each] for each in self.joints.values()}, number: at[number] + by}, speed)
            else:
                pose = await self._pose()
                await self._move({**pose, axis: pose[axis] + by}, None, speed)
        except Exception as error:  # noqa: B902: its errors have no class of their own here
            attribute, numbers = self.out_of_reach
            if isinstance(error, ValueError) or getattr(error, attribute, 0) in numbers:
                raise Invalid(_words(error), hint="jog it back") from error
            raise
        await self._settle()

    async def free_drive(self, on: bool) -> None:
        self.is_free = True
        await self._working(self.arm.start_freedrive_mode(_FREE) if on else self.arm.stop_freedrive_mode())
        self.is_free = on

    async def go_to(self, position: str, point: Point, offset_z: float, speed: float) -> None:
        self._must_be_reachable(point)
        await self._working(self._go_to(point, offset_z, speed), is_move=True)

    async def _go_to(self, point: Point, offset_z: float, speed: float) -> None:
        for gateway in point["gateways"]:
            await self._go(gateway, speed=speed)
        at, up, back = _approach(point)
        await self._go(point, up, back, speed)
        await self._go(point, at + offset_z, speed=speed)
        await self._settle()

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
            wanted = {number: coords[name] for name, number in self.joints.items()}
            wanted[self.joints["base"]] += up
            if coords.get("rail"):
                wanted[_RAIL] = coords["rail"]
            await self._move_joints(wanted, speed)
            # This waits until it stands.
            joints = await self.arm.request_joint_position()
            is_there = all(abs(joints[axis] - at) < _NEAR for axis, at in wanted.items())
        else:
            x, y = self._ahead(spot) if back else (0, 0)
            pose = {**coords, "x": coords["x"] - back * x, "y": coords["y"] - back * y, "z": coords["z"] + up}
            await self._move(pose, spot["elbow"], speed)
            await self._arrives()
            seen = await self._pose()
            is_there = math.dist([pose[axis] for axis in "xyz"], [seen[axis] for axis in "xyz"]) < _NEAR
        if not is_there:
            raise DeviceFailed(f"it stopped before it came to {spot['name']}", hint="see what is in its way, then initialize")

    async def _grip(self, close: bool) -> None:
        self.is_gripping = None
        await self.arm.move_gripper(self.closed_mm if close else self.open_mm, force_sensing=close)
        if close and await self.arm.is_gripper_closed():
            raise DeviceFailed("its gripper closed on nothing", hint="see where the labware is, then initialize")
        self.is_gripping = close

    def _must_be_reachable(self, point: Point) -> None:
        for spot in (point, *point["gateways"]):
            if spot["coord_type"] == "joint" and "joint" not in self.skills:
                raise Invalid(f"{spot['name']} is taught in joint coordinates, which this arm does not take", hint="teach its pose")
        access = point["access"]
        if access is None or access["access_type"] == "vertical":
            return
        if point["coord_type"] == "joint":
            raise Invalid(f"{point['name']} is taught in joint coordinates, from which it cannot come horizontally", hint="teach its pose")
        self._ahead(point)

    async def where(self) -> Where:
        if not self._is_connected():
            return {"state": "unhomed", "gripper": None}
        return await self._working(self._where())

    async def _where(self) -> Where:
        if self.moves:
            await self._is_well()
            return {"state": "moving", "gripper": None}
        if await self._is_moving():
            return {"state": "moving", "gripper": None}
        is_closed = await self.arm.is_gripper_closed()
        gripper: Any = "empty" if is_closed or self.is_gripping is False else "full" if self.is_gripping else None
        if self.is_halted:
            return {"state": "stopped", "gripper": gripper}
        if not self.is_homed:
            return {"state": "unhomed", "gripper": gripper}
        if not await self._is_well():
            return {"state": "error", "gripper": gripper}
        return {"state": "idle", "gripper": gripper, "pose": await self._pose()}

    async def _is_moving(self) -> bool:
        first = await self._joints()
        await asyncio.sleep(0.1)
        return any(abs(now - before) >= _STILL for now, before in zip(await self._joints(), first))

    async def halt(self) -> None:
        self.is_halted = True
        try:
            await self._stop_motion()
        except Exception as error:  # noqa: B902: a library raises what it likes
            # The connection is gone, or was never opened.
            print(f"halt: {_words(error)}; it is connected anew", file=sys.stderr)
            await self._reconnect()
            await self._stop_motion()
        if self.is_free:
            await self._end_free_drive()
            self.is_free = False
        if await self._is_moving():
            raise DeviceFailed("it still moves after halt", hint="use its red button")

    def _cancel(self) -> List[Any]:
        """Ends what waits for the arm, and returns what has to come to its end."""
        return [task for task in self.tasks if task.cancel()]


class PreciseFlex(_Arm):
    """PyLabRobot's PreciseFlex (`pylabrobot.brooks.precise_flex`) as a transporter.

    It moves by `move_to_location` and `move_to_joint_position`, whose controller hears `halt` during a motion. PyLabRobot's own pick and place are one command
    each, and the controller is not known to hear anything before their end. The gripper ends what it does: its command is short and force-limited.
    """

    model = "PreciseFlex"
    skills = ("gateway", "access", "elbow", "joint")
    jog_axes = ("x", "y", "z", "yaw", "base", "shoulder", "elbow", "wrist")
    joints = {"base": 1, "shoulder": 2, "elbow": 3, "wrist": 4}
    out_of_reach = ("replycode", {-1012, -1013, -1039, -1040, -1042})

    def __init__(self, arm: Any, open_mm: float, closed_mm: float) -> None:
        super().__init__(arm, open_mm, closed_mm)
        self.is_open = False
        #: The speed of its profile, in percent: a move at another speed changes that for all later moves.
        self.usual_pct: Optional[float] = None
        self.line: Optional[asyncio.Lock] = None
        self.send_command = arm.send_command
        arm.send_command = self._send

    async def _send(self, command: str) -> str:
        """Sends a command when the answer to the last has come: PyLabRobot takes the next line for the answer, whatever it was asked."""
        self.line = self.line or asyncio.Lock()
        async with self.line:
            return await self.send_command(command)

    def _is_connected(self) -> bool:
        return self.is_open

    async def _open_anew(self) -> None:
        self.is_open = False
        await self.arm.io.stop()
        # Homing begins in `setup`, and a halt must find the connection.
        self.is_open = True
        await self.arm.setup()
        if self.usual_pct is None:
            self.usual_pct = await self.arm.request_profile_speed(self.arm.profile_index)

    async def _reconnect(self) -> None:
        await self.arm.io.stop()
        await self.arm.io.setup()
        self.is_open = True
        await self.arm.set_response_mode("pc")
        await self.arm.select_robot(1)

    async def _stop_motion(self) -> None:
        """Writes `halt` past everything, and drops the answers that nobody waits for any more."""
        await self.arm.io.write(b"\nhalt\n")
        mine = self._cancel()
        if mine:
            await asyncio.wait(mine)
        try:
            for _ in range(_MOST_LATE):
                if not await self.arm.io.readline(timeout=0.3):
                    raise OSError("the connection is closed")
        except (asyncio.TimeoutError, TimeoutError):
            return
        raise OSError("it does not stop answering")

    async def _end_free_drive(self) -> None:
        await self.arm.stop_freedrive_mode()

    async def _is_well(self) -> bool:
        # The controller answers this between two questions of a move.
        return bool(await self.arm.request_power_state())

    async def _joints(self) -> List[float]:
        return [float(word) for word in (await self.arm.send_command("wherej")).split()]

    async def _pose(self) -> Dict[str, float]:
        pose = await self.arm.request_gripper_pose()
        return {"x": pose.location.x, "y": pose.location.y, "z": pose.location.z, "yaw": pose.rotation.z, "pitch": 0.0, "roll": 0.0}

    async def _move(self, pose: Dict[str, float], elbow: Optional[str], speed: Optional[float]) -> None:
        at = _resources().Coordinate(pose["x"], pose["y"], pose["z"])
        await self.arm.move_to_location(at, pose["yaw"], orientation=elbow, speed_pct=_or(speed, self.usual_pct))

    async def _move_joints(self, position: Dict[int, float], speed: Optional[float]) -> None:
        await self.arm.move_to_joint_position(position, speed_pct=_or(speed, self.usual_pct))

    async def _arrives(self) -> None:
        await self.arm.request_joint_position()

    async def _settle(self) -> None:
        before, is_still = await self._joints(), False
        while not is_still:
            await asyncio.sleep(0.02)
            now = await self._joints()
            is_still, before = all(abs(one - other) < _STILL for one, other in zip(now, before)), now
        if self.usual_pct is not None:
            await self.arm.set_profile_speed(self.arm.profile_index, self.usual_pct)

    def _ahead(self, spot: Spot) -> Tuple[float, float]:
        yaw = math.radians(spot["coords"]["yaw"])
        return math.cos(yaw), math.sin(yaw)


class XArm6(_Arm):
    """PyLabRobot's XArm6 (`pylabrobot.ufactory.xarm6`) as a transporter.

    PyLabRobot calls the SDK of the arm in threads, and the SDK answers questions between two questions of a move. A teachpoint has no room for six joints, so
    only poses are taken. PyLabRobot's own `halt` ends well without a connection, too; so the state of the controller is asked here.
    """

    model = "XArm6"
    skills = ("gateway", "access")
    jog_axes = ("x", "y", "z", "yaw", "pitch", "roll", "base", "shoulder", "elbow")
    joints = {"base": 1, "shoulder": 2, "elbow": 3}
    #: The limits of the workspace and of the joints, as the SDK checks them before a move.
    out_of_reach = ("code", {-6, -7, -8})

    def __init__(self, arm: Any, open_mm: float, closed_mm: float) -> None:
        if not closed_mm <= arm.closed_threshold_mm < open_mm:
            threshold = f"closed_threshold_mm ({arm.closed_threshold_mm:g} mm)"
            raise ValueError(f"--closed must be at most {threshold}, and --open more: a gripper that is closed further than that is empty")
        super().__init__(arm, open_mm, closed_mm)

    async def _sdk(self, name: str, *words: Any) -> Any:
        if self.arm._arm is None:
            raise DeviceFailed("it is not connected", hint="initialize")
        return await self.arm._call_sdk(getattr(self.arm._arm, name), *words, op=name)

    def _is_connected(self) -> bool:
        return self.arm._arm is not None

    async def _open_anew(self) -> None:
        await self.arm.stop()
        await self.arm.setup()

    async def _reconnect(self) -> None:
        loop = asyncio.get_running_loop()
        if self.arm._arm is not None:
            # Nobody waits for the end of the old connection, which may take longer than a stop has.
            loop.run_in_executor(None, self.arm._arm.disconnect)
        # `setup` would make the arm ready for moves, and a move that is paused would go on.
        self.arm._arm = await loop.run_in_executor(None, importlib.import_module("xarm.wrapper").XArmAPI, self.arm._ip)

    async def _stop_motion(self) -> None:
        mine = self._cancel()
        await asyncio.wait_for(self._sdk("set_state", _STOPPED), _ANSWER_S)
        state = await asyncio.wait_for(self._sdk("get_state"), _ANSWER_S)
        if state < _STOPPED:
            raise DeviceFailed(f"its controller is in state {state} after a stop", hint="use its red button")
        if mine:
            await asyncio.wait(mine)

    async def _end_free_drive(self) -> None:
        # `stop_freedrive_mode` would make it ready for moves again.
        await self._sdk("set_mode", 0)

    async def _is_well(self) -> bool:
        return (await self._sdk("get_state")) < _PAUSED

    async def _joints(self) -> List[float]:
        return list((await self.arm.request_joint_position()).values())

    async def _pose(self) -> Dict[str, float]:
        pose = await self.arm.request_gripper_pose()
        return {**{axis: getattr(pose.location, axis) for axis in "xyz"}, "yaw": pose.rotation.z, "pitch": pose.rotation.y, "roll": pose.rotation.x}

    async def _move(self, pose: Dict[str, float], elbow: Optional[str], speed: Optional[float]) -> None:
        resources = _resources()
        at, turned = resources.Coordinate(pose["x"], pose["y"], pose["z"]), resources.Rotation(pose["roll"], pose["pitch"], pose["yaw"])
        await self.arm.move_to_location(at, turned, **_slow(speed, _FULL_MM_S))

    async def _move_joints(self, position: Dict[int, float], speed: Optional[float]) -> None:
        await self.arm.move_to_joint_position(position, **_slow(speed, _FULL_DEG_S))

    def _ahead(self, spot: Spot) -> Tuple[float, float]:
        yaw, pitch, roll = (math.radians(spot["coords"][axis]) for axis in ("yaw", "pitch", "roll"))
        x = math.cos(yaw) * math.sin(pitch) * math.cos(roll) + math.sin(yaw) * math.sin(roll)
        y = math.sin(yaw) * math.sin(pitch) * math.cos(roll) - math.cos(yaw) * math.sin(roll)
        length = math.hypot(x, y)
        if length < 0.5:
            raise Invalid(f"at {spot['name']} the gripper points up or down, so it cannot come horizontally", hint="teach a vertical access")
        return x / length, y / length


_ARMS: Dict[str, Type[_Arm]] = {"PreciseFlex": PreciseFlex, "XArm6": XArm6}
#: Arms of PyLabRobot that are none of a bench, and why.
_OTHER_ARMS = {
    "PreciseFlexBackend": "it waits for the end of each motion by waitForEom, and its controller hears no halt meanwhile; use pylabrobot.brooks.precise_flex.PreciseFlex",
}


def arm_of(arm: Any, open_mm: Optional[float], closed_mm: Optional[float]) -> Optional[Transporter]:
    """Returns an arm of PyLabRobot as a transporter whose gripper opens and closes to these widths, or None for any other device.

    Raises `ValueError` for an arm that cannot be one.
    """
    for name in (each.__name__ for each in type(arm).__mro__):
        if name in _OTHER_ARMS:
            raise ValueError(_OTHER_ARMS[name])
        if name in _ARMS:
            if open_mm is None or closed_mm is None:
                raise ValueError("an arm needs the widths in mm to which its gripper opens and closes: --open MM --closed MM")
            return _ARMS[name](arm, open_mm, closed_mm)
    return None


#: The axes that a person may lead: the column would fall where its motor is free. An XArm6 frees all of its axes, and holds its weight.
_FREE = [2, 3, 4]
_RAIL = 6
#: An arm has arrived within this many mm and degrees, and stands if no axis moves by more than `_STILL` in 0.1 s.
_NEAR, _STILL = 2.0, 0.02
#: The clearance of a point that does not say one, in mm.
_CLEARANCE = 50
#: The most answers that may be under way when a halt comes.
_MOST_LATE = 50
#: States of the controller of an XArm6, and how long its answer to a stop may take.
_PAUSED, _STOPPED, _ANSWER_S = 3, 4, 1.0
#: An XArm6 moves with 100 % at this speed, in mm/s or °/s. With the 20 % of a person who leads it, it is about as fast as PyLabRobot moves it usually.
_FULL_MM_S, _FULL_DEG_S = 500.0, 180.0


def _resources() -> Any:
    return importlib.import_module("pylabrobot.resources")


def _or(value: Optional[float], usual: Any) -> Any:
    return usual if value is None else value


def _slow(percent: Optional[float], full: float) -> Dict[str, float]:
    return {} if percent is None else {"speed": full * percent / 100}


def _approach(point: Point) -> Tuple[float, float, float]:
    """Returns how far above the point the gripper works, and how far above it and in front of it the approach begins."""
    access = point["access"] or {"access_type": "vertical", "vertical_clearance": None, "horizontal_clearance": None, "gripper_offset": None}
    is_vertical = access["access_type"] == "vertical"
    at = access["gripper_offset"] or 0
    up = at + _or(access["vertical_clearance"], _CLEARANCE if is_vertical else 0)
    return at, up, 0 if is_vertical else _or(access["horizontal_clearance"], _CLEARANCE)
