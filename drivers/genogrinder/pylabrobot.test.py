# Drives a simulated GenoGrinder by PyLabRobot's own class: pylabrobot.test.py CHECKOUT PORT. Prints what came out, as JSON.
import asyncio
import json
import sys

sys.path.insert(0, sys.argv[1])
from pylabrobot.cole_parmer import GenoGrinder, GenoGrinderError


async def main():
  grinder = GenoGrinder(sys.argv[2], timeout=10, status_poll_interval=0.3)
  await grinder.setup()
  out = {"state": await grinder.request_status(), "clamp": [await grinder.request_clamp_state()]}
  await grinder.home_clamp()
  await grinder.close_clamp()
  out["clamp"].append(await grinder.request_clamp_state())
  await grinder.shake(duration=2, speed=600)
  out["after"] = await grinder.request_status()
  try:
    await grinder.shake(duration=2, speed=9999)
  except GenoGrinderError as error:
    out["refused"] = error.title
  await grinder._command("*04*")
  await grinder.stop_shaking()
  out["stopped"] = await grinder.request_status()
  await asyncio.sleep(2)
  out["at_rest"] = await grinder.request_status()
  await grinder.open_clamp()
  out["clamp"].append(await grinder.request_clamp_state())
  await grinder.stop()
  print(json.dumps(out))


asyncio.run(main())
