# Drives our simulated MicroSpin by PyLabRobot's own class: pylabrobot.test.py CHECKOUT PORT. Prints what came out, as JSON.
import asyncio
import json
import sys

sys.path.insert(0, sys.argv[1])
from pylabrobot.legacy.centrifuge.highres import MicroSpinAbortedError, MicroSpinBackend, MicroSpinError


async def ends(command):
  try:
    await command
    return "ok"
  except MicroSpinAbortedError:
    return "aborted"
  except MicroSpinError as error:
    return error.error_lines[-1].split(") ")[1]


async def main():
  spin, side = [MicroSpinBackend("127.0.0.1", port=int(sys.argv[2]), timeout=10.0) for _ in range(2)]
  await spin.setup()
  await side.setup()
  out = {"homed_before": await spin.is_homed(), "refused": await ends(spin.go_to_bucket1())}
  await spin.home()
  out["homed"] = await spin.is_homed()
  out["serial"] = (await spin.request_version())["Serial Number"]
  await spin.go_to_bucket2()
  out["open"] = (await spin.request_status())["Door Position"]
  out["spun"] = await ends(spin.spin(g=500, duration=5))
  out["closed"] = (await spin.request_status())["Door Position"]
  spinning = asyncio.ensure_future(ends(spin.spin(g=1000, duration=3000)))
  await asyncio.sleep(0.3)
  out["homed_meanwhile"] = await side.is_homed()
  await side.abort()
  out["ended"] = await spinning
  out["latched"] = await ends(spin.home())
  await side.clear_button_abort()
  out["rests"] = sorted(await side.wait_for_spindle_stopped(timeout=20))
  out["again"] = await ends(spin.home())
  out["errors"] = len(await side.request_errors())
  await spin.stop()
  await side.stop()
  print(json.dumps(out))


asyncio.run(main())
