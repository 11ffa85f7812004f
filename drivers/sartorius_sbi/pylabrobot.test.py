# Weighs with a simulated balance by PyLabRobot's own class: pylabrobot.test.py CHECKOUT PORT. Prints what came out, as JSON.
import asyncio
import json
import sys

sys.path.insert(0, sys.argv[1])
from pylabrobot.sartorius import SartoriusEntris2


async def main():
  balance = SartoriusEntris2(port=sys.argv[2], tare_settle_s=0.5)
  await balance.setup()
  out = {"serial_number": balance.serial_number, "model": await balance.get_model()}
  out["weight"] = round(await balance.measure_weight(), 2)
  await balance.tare()
  out["tared"] = round(await balance.measure_weight(), 2)
  await balance.zero()
  out["zero"] = round(await balance.measure_weight(), 2)
  await balance.stop()
  print(json.dumps(out))


asyncio.run(main())
