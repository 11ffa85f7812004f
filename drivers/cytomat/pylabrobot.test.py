# Drives a simulated Cytomat by PyLabRobot's own class: pylabrobot.test.py CHECKOUT PORT. Prints what came out, as JSON.
import asyncio
import json
import sys

sys.path.insert(0, sys.argv[1])
from pylabrobot.legacy.storage.cytomat.constants import ActionType, CytomatType
from pylabrobot.legacy.storage.cytomat.cytomat import CytomatBackend
from pylabrobot.legacy.storage.cytomat.racks import cytomat_rack_23mm_21


async def refusal(doing):
  try:
    await doing
  except Exception as error:
    return type(error).__name__


async def main():
  backend = CytomatBackend(model=CytomatType.C2C_450_SHAKE, port=sys.argv[2])
  # It reads until this time is over, 1 s by default.
  backend.io.timeout = 0.15
  await backend.setup()
  racks = [cytomat_rack_23mm_21("first"), cytomat_rack_23mm_21("second")]
  await backend.set_racks(racks)
  out = {"temperature": await backend.get_temperature()}
  out["humidity"] = (await backend.get_humidity()).nominal_value
  out["co2"] = (await backend.get_co2()).nominal_value
  # The fourth level of the second rack of 21.
  site = racks[1].sites[3]
  # A plate stands at the transfer station.
  stored = await backend.action_transfer_to_storage(site)
  out["stored"] = [stored.transfer_station_occupied, stored.handler_occupied, stored.busy_bit_set, stored.ready_bit_set]
  out["nothing to store"] = await refusal(backend.action_transfer_to_storage(site))
  out["no plate in the slot"] = await refusal(backend.action_storage_to_transfer(racks[0].sites[0]))
  await backend.initialize()
  fetched = await backend.action_storage_to_transfer(site)
  out["fetched"] = [fetched.transfer_station_occupied, fetched.handler_occupied, fetched.error_register_set]
  out["station is taken"] = await refusal(backend.action_storage_to_transfer(site))
  out["no such slot"] = await refusal(backend.send_action("mv", "st", "043"))
  await backend.start_shaking(frequency=500)
  await backend.stop_shaking()
  await backend.wait_for_task_completion()
  opened = await backend.open_door()
  closed = await backend.close_door()
  out["gate"] = [opened.automatic_gate_open, closed.automatic_gate_open]
  action = await backend.get_action_register()
  out["waits"] = action.target == ActionType.WAIT_POSITION
  out["warning"] = (await backend.get_warning_register()).name
  await backend.stop()
  print(json.dumps(out))


asyncio.run(main())
