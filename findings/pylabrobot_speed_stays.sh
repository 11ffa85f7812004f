#!/usr/bin/env bash
# PyLabRobot's PreciseFlex: `speed_pct` of one move is the speed of all later moves.
#
# One would guess: `move_to_joint_position(position, speed_pct=10)` makes one slow move; its documentation calls the parameter a "movement speed
#   override", and a move without it uses "the current speed setting".
# What happens: the parameter is written into the motion profile of the controller (`Speed 1 10`), and is not taken back. Each later move without it
#   is slow, too. `move_to_location` sets it in the same way.
# Consequence: a program that makes slow moves reads the usual speed after `setup()` (`request_profile_speed`), gives each move its speed, and sets the
#   usual speed again after slow moves.
# Versions: PyLabRobot main, commit 598b58ffb of 2026-08-21 (0.2.2), Python 3.11. The class is not in 0.2.1, the newest release that we know. Source:
#   seen by running this against a controller of a few lines; https://github.com/PyLabRobot/pylabrobot, pylabrobot/brooks/precise_flex.
# Output seen:
#   the first move: Speed 1 10, moveJ; the second move: moveJ
#   speed of the profile: 50.0 before, 10.0 after
# Exits 0 when it happens as described, 1 when that has changed. `PYLABROBOT` may name a checkout, which is used instead of that commit.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python=python3
if [ -z "${PYLABROBOT:-}" ]; then
  python3 -m venv venv
  venv/bin/pip install --quiet "pylabrobot @ git+https://github.com/PyLabRobot/pylabrobot@598b58ffbef97fe33db6e1421b532cc9a389cbcb"
  python=venv/bin/python
fi
cat >trial.py <<'PY'
import asyncio
from pylabrobot.brooks.precise_flex import PreciseFlex

speed, joints, heard = "50", ["100", "0", "90", "90", "80"], []


def answer(line):
    global speed, joints
    word, *rest = line.split()
    if word == "Speed" and len(rest) == 2:
        heard.append(line)
        speed = rest[1]
    if word == "moveJ":
        heard.append(word)
        joints = rest[1:6]
    values = {"wherej": " ".join(joints), "Speed": f"1 {speed}" if len(rest) == 1 else "", "pd": "-2800 unknown"}
    if word == "hp" and not rest:
        return "0 1"
    return values[word] if word == "pd" else f"0 {values.get(word, '')}"


async def talk(reader, writer):
    while line := await reader.readline():
        if line.strip():
            writer.write((answer(line.decode().strip()) + "\r\n").encode())
    writer.close()


async def main():
    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    arm = PreciseFlex(host="127.0.0.1", port=port, gripper_length=162, gripper_z_offset=0, closed_gripper_position=60)
    await arm.setup()
    before = await arm.request_profile_speed(1)
    heard.clear()
    await arm.move_to_joint_position({1: 110}, speed_pct=10)
    first = ", ".join(heard)
    heard.clear()
    await arm.move_to_joint_position({1: 120})
    second = ", ".join(heard)
    after = await arm.request_profile_speed(1)
    await arm.io.stop()
    await asyncio.sleep(0.1)
    print(f"the first move: {first}; the second move: {second}")
    print(f"speed of the profile: {before} before, {after} after")
    return (first, second, before, after) == ("Speed 1 10, moveJ", "moveJ", 50.0, 10.0)


raise SystemExit(0 if asyncio.run(main()) else 1)
PY
PYTHONPATH=${PYLABROBOT:-} $python trial.py
