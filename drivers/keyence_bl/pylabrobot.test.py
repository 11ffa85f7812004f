# Reads codes from a simulated Keyence reader by PyLabRobot's own class: pylabrobot.test.py CHECKOUT PORT. Prints what came out, as JSON.
import asyncio
import json
import sys

sys.path.insert(0, sys.argv[1])
from pylabrobot.legacy.barcode_scanners.keyence import KeyenceBarcodeScannerBackend


async def main():
  reader = KeyenceBarcodeScannerBackend(sys.argv[2])
  await reader.setup()
  out = {"codes": [(await reader.scan_barcode()).data for _ in range(2)]}
  await reader.send_command("LON")
  out["ended"] = await reader.send_command("LOFF")
  await reader.stop()
  print(json.dumps(out))


asyncio.run(main())
