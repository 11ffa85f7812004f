# Drives a simulated STX by PyLabRobot's own class: pylabrobot.test.py CHECKOUT PORT. Prints what came out, as JSON.
import asyncio
import json
import sys

sys.path.insert(0, sys.argv[1])
from pylabrobot.legacy.storage.liconic.liconic_backend import ExperimentalLiconicBackend
from pylabrobot.legacy.storage.liconic.racks import liconic_rack_17mm_22, liconic_rack_44mm_10
from pylabrobot.resources import Cor_96_wellplate_360ul_Fb


async def refusal(doing):
  try:
    await doing
  except Exception as error:
    return type(error).__name__


async def main():
  backend = ExperimentalLiconicBackend(model="STX44_IC", port=sys.argv[2])
  out = {}
  # It reads until this time is over, 1 s by default.
  backend.io.timeout = 0.15
  await backend.setup()
  await backend.initialize()
  racks = [liconic_rack_17mm_22("first"), liconic_rack_44mm_10("second")]
  await backend.set_racks(racks)
  # The third level of the second rack. A plate stands at the transfer station.
  site = racks[1].sites[2]
  plate = Cor_96_wellplate_360ul_Fb(name="plate")
  out["before"] = [await backend.check_transfer_sensor(), await backend.check_shovel_sensor()]
  await backend.take_in_plate(plate, site)
  out["stored"] = [await backend.check_transfer_sensor(), await backend.check_shovel_sensor()]
  site.assign_child_resource(plate)
  out["written"] = [await backend._send_command(f"RD DM{memory}") for memory in (0, 5, 23, 25)]
  await backend.fetch_plate_to_loading_tray(plate)
  out["fetched"] = [await backend.check_transfer_sensor(), await backend.check_shovel_sensor()]
  # No motion begins while a plate stands in its way: the controller takes the word, and shows an error.
  await backend._send_command("ST 1905")
  out["station is taken"] = [await backend._send_command(word) for word in ("RD 1915", "RD 1814", "RD DM200")]
  out["its error"] = await refusal(backend._wait_ready(timeout=1))
  await backend.initialize()
  await backend.set_temperature(30.0)
  out["target"] = await backend.get_target_temperature()
  out["temperature"] = await backend.get_temperature()
  out["humidity"] = await backend.get_target_humidity()
  await backend.start_shaking(10.0)
  out["speed"] = await backend.get_shaker_speed()
  await backend.stop_shaking()
  out["unknown"] = [await refusal(backend._send_command("RD DM999")), await refusal(backend._send_command("HELLO"))]
  await backend.stop()
  print(json.dumps(out))


asyncio.run(main())
