# Opentrons' own drivers and emulators, from a checkout of their repository:
#
#   opentrons.test.py CHECKOUT client MODULE PORT    drives a simulator at a serial port, and prints what came out, as JSON
#   opentrons.test.py CHECKOUT emulate MODULE        emulates a module on a free TCP port, which it prints
#
# The packages whose own beginning needs more than these modules are entered without it.
import asyncio
import json
import sys
import types

checkout, what, module = sys.argv[1:4]
root = f"{checkout}/api/src/opentrons"


def shell(name, **members):
    stub = types.ModuleType(name)
    stub.__path__ = [root + "".join("/" + part for part in name.split(".")[1:])]
    for member, value in members.items():
        setattr(stub, member, value)
    sys.modules[name] = stub


shell("opentrons")
shell("opentrons.hardware_control")
shell("opentrons.hardware_control.emulation")
# Only the simulating drivers, which are not used here, need these.
shell("opentrons.hardware_control.modules")
shell("opentrons.hardware_control.modules.types", ThermocyclerModuleModel=None)
shell("opentrons.util")
shell("opentrons.util.async_helpers", ensure_yield=lambda function: function)


class Settings:
    """Stands for the settings of the emulators, which need another package: a record of what they are given."""

    def __init__(self, **members):
        self.__dict__.update(members)


shell("opentrons.hardware_control.emulation.settings", TempDeckSettings=Settings, ThermocyclerSettings=Settings)


async def drive_temperature_module(port):
    from opentrons.drivers.temp_deck.driver import TempDeckDriver

    driver = await TempDeckDriver.create(port=port, loop=None)
    out = {"info": await driver.get_device_info()}
    out["idle"] = vars(await driver.get_temperature())
    await driver.set_temperature(60)
    out["set"] = vars(await driver.get_temperature())
    await driver.deactivate()
    out["off"] = vars(await driver.get_temperature())
    await driver.set_temperature(4)
    out["cold"] = vars(await driver.get_temperature())
    await driver.deactivate()
    await driver.disconnect()
    return out


async def drive_thermocycler(port):
    from opentrons.drivers.asyncio.communication.errors import ErrorResponse
    from opentrons.drivers.thermocycler.driver import ThermocyclerDriverFactory

    driver = await ThermocyclerDriverFactory.create(port, loop=None)
    out = {"driver": type(driver).__name__, "info": await driver.get_device_info()}
    lid = lambda: driver.get_lid_status()
    out["lids"] = [(await lid()).name]
    await driver.open_lid()
    out["lids"].append((await lid()).name)
    await driver.close_lid()
    out["lids"].append((await lid()).name)
    out["idle"] = vars(await driver.get_plate_temperature())
    await driver.set_plate_temperature(temp=50, hold_time=5)
    out["held"] = vars(await driver.get_plate_temperature())
    holds = []
    while not holds or holds[-1] > 0:
        holds.append((await driver.get_plate_temperature()).hold)
        await asyncio.sleep(0.02)
    out["falls"] = all(one >= other for one, other in zip(holds, holds[1:]))
    out["reached"] = round((await driver.get_plate_temperature()).current) in (49, 50, 51)
    await driver.set_lid_temperature(105)
    out["lid"] = (await driver.get_lid_temperature()).target
    await driver.deactivate_block()
    out["block_off"] = vars(await driver.get_plate_temperature())["target"]
    out["lid_on"] = (await driver.get_lid_temperature()).target
    await driver.deactivate_all()
    out["lid_off"] = (await driver.get_lid_temperature()).target
    try:
        await driver.lift_plate()
    except (ErrorResponse, NotImplementedError) as error:
        out["refused"] = str(error)
    await driver.disconnect()
    return out


async def emulate(kind):
    from opentrons.hardware_control.emulation.connection_handler import ConnectionHandler
    from opentrons.hardware_control.emulation.parser import Parser
    from opentrons.hardware_control.emulation.tempdeck import TempDeckEmulator
    from opentrons.drivers.types import ThermocyclerLidStatus
    from opentrons.hardware_control.emulation.thermocycler import ThermocyclerEmulator

    # Python 3.10, for which it was written, puts the value of such an enumeration into a text, and later ones put its name.
    ThermocyclerLidStatus.__format__ = lambda self, spec: format(self.value, spec)
    model = Settings(degrees_per_tick=2.0, starting=23.0)
    told = {"serial_number": "emulator", "version": "v2.0.1"}
    if kind == "temperature_module":
        emulator = TempDeckEmulator(Parser(), Settings(**told, model="temp_deck_v20", temperature=model))
    else:
        emulator = ThermocyclerEmulator(Parser(), Settings(**told, model="v02", lid_temperature=model, plate_temperature=model))
    server = await asyncio.start_server(ConnectionHandler(emulator), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


drives = {"temperature_module": drive_temperature_module, "thermocycler": drive_thermocycler}
if what == "emulate":
    asyncio.run(emulate(module))
else:
    print(json.dumps(asyncio.run(drives[module](sys.argv[4]))))
