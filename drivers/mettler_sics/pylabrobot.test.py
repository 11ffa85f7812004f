# Weighs with a simulated balance by PyLabRobot's own class: pylabrobot.test.py CHECKOUT PORT. Prints what came out, as JSON.
import asyncio
import json
import sys

sys.path.insert(0, sys.argv[1])
from pylabrobot.mettler_toledo import MettlerToledoError, MettlerToledoWXS205SDU


async def main():
  balance = MettlerToledoWXS205SDU(port=sys.argv[2])
  await balance.setup()
  out = {"serial_number": balance.serial_number}
  out["immediately"] = round(await balance.read_weight(0), 2)
  out["stable"] = round(await balance.read_weight("stable"), 2)
  await balance.tare()
  out["tared"] = round(await balance.read_weight(), 2)
  out["tare"] = round(await balance.request_tare_weight(), 2)
  await balance.clear_tare()
  out["cleared"] = round(await balance.read_weight(), 2)
  await balance.zero()
  out["zero"] = round(await balance.read_weight(), 2)
  await balance.tare(0)
  await balance.zero(0)
  await balance.set_display_text("hello")
  await balance.set_weight_display()
  try:
    await balance.send_command("DANCE")
  except MettlerToledoError as error:
    out["unknown"] = error.title
  await balance.stop()
  print(json.dumps(out))


asyncio.run(main())
