# Drives a simulated PreciseFlex by PyLabRobot's own class: pylabrobot.test.py CHECKOUT PORT. Prints what came out, as JSON.
import asyncio
import json
import sys

sys.path.insert(0, sys.argv[1])
from pylabrobot.brooks.precise_flex import Axis, PreciseFlex, PreciseFlexError
from pylabrobot.resources import Coordinate


async def main():
  arm = PreciseFlex("127.0.0.1", port=int(sys.argv[2]), gripper_length=162.0, gripper_z_offset=0.0, closed_gripper_position=59.0)
  out = {}
  await arm.setup()
  out["state"] = await arm.request_system_state()
  out["name"] = arm.configuration.robot_name
  out["reach"] = arm.configuration.reach_class
  await arm.move_to_joint_position({Axis.BASE: 250.0, Axis.SHOULDER: 30.0, Axis.ELBOW: 120.0})
  joints = await arm.request_joint_position()
  out["joints"] = [round(joints[axis]) for axis in (Axis.BASE, Axis.SHOULDER, Axis.ELBOW)]
  pose = await arm.request_gripper_pose()
  x, y, z = pose.location.x, pose.location.y, pose.location.z
  seen = [float(word) for word in (await arm.send_command("wherec")).split()]
  out["agrees"] = all(abs(one - other) < 0.1 for one, other in zip((x, y, z), seen))
  await arm.move_to_location(Coordinate(x, y, z - 50), direction=pose.rotation.z)
  out["below"] = (await arm.request_gripper_pose()).location.z
  await arm.move_gripper(width=100.0)
  await arm.pick_up_at_joint_position({**joints, Axis.BASE: 150.0}, resource_width=85.5)
  await arm.drop_at_joint_position({**joints, Axis.BASE: 150.0}, resource_width=85.5)
  try:
    await arm.send_command("moveJ 1 250 170 120 180 100")
  except PreciseFlexError as error:
    out["refused"] = error.replycode
  # The stop of its own motion-wait: a task that is cancelled halts the arm.
  await arm.set_profile_speed(1, 2)
  await arm.send_command("moveJ 1 20 -60 200 180 100")
  waiting = asyncio.ensure_future(arm._wait_for_eom())
  await asyncio.sleep(0.3)
  waiting.cancel()
  try:
    await waiting
  except asyncio.CancelledError:
    out["stopped"] = True
  before = await arm.send_command("wherej")
  await asyncio.sleep(0.3)
  out["stands"] = before == await arm.send_command("wherej")
  out["short"] = abs(float(before.split()[0]) - 20) > 1
  await arm.stop()
  print(json.dumps(out))


asyncio.run(main())
