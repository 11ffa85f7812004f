// The Python clients and the programs that use them pass `mypy --strict`. A client lies beside the program, so it is checked with it.

import { spawnSync } from 'node:child_process'
import { cpSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { test } from 'tap'

const clients = fileURLToPath(new URL('../../../../src/clients/python/', import.meta.url))
const noMypy = spawnSync('mypy', ['--version']).status !== 0 && 'there is no mypy'

const evening = `
import asyncio
import time
from datetime import datetime, timedelta
from benchd import AsyncBench, Bench, Busy

bench = Bench.from_env()
running = bench["shaker-1"].shake.start(speed=500, duration=600)
print(running.end(), running.wait(), bench["shaker-1"].temperature())
with bench.lock("sealer-1", note="calibration") as sealer:
    sealer.initialize()
run = bench.submit("seal-and-spin", variables={"speed": 600})
run = bench.submit("seal-and-spin", samples=[{"barcode": "P-1", "speed": 600}])
print(bench.check_samples("seal-and-spin", "speed\\n600\\n")["mistakes"])
entry = bench.add_to_queue("seal-and-spin", start_at=datetime.now() + timedelta(hours=1), priority=2)
bench.move_in_queue(entry["entry_id"], to="first")
bench.start_queue_entry(entry["entry_id"]).set_priority(3)
for thread in run.held():
    run.recover(thread["thread_id"], "RETRY")
for row in run.values() + run.readings() + run.record("action"):
    print(row["at"])
run.report("report.html")
bench.runs(since=datetime.now() - timedelta(days=1), status="COMPLETED")
bench.runs(since=time.time() - 3600, state="COMPLETED")
print(bench.labware_history("P001")[0]["device_id"], bench.operations(device_id="shaker-1"))
for event in bench.events(since="last", file="cursor.json"):
    print(event["event_name"])
try:
    bench["shaker-1"].shake(speed=500)
except Busy as busy:
    print(busy.retry_after, busy.reason)

async def later() -> None:
    async with AsyncBench.from_env() as bench:
        await bench["shaker-1"].shake(speed=500, duration=600)
        async for event in bench.events():
            print(event["event_name"])

asyncio.run(later())
`
const reader = `
from benchd_bridge import Bridge, operation, reading

class Reader(Bridge):
    type = "reader"

    @operation(seconds=("duration", 10), units={"wavelength": "nm"})
    def read(self, wavelength: int = 600, duration: float = 1) -> dict[str, float]:
        self.progress(0.5, "half")
        return {"absorbance": 0.25}

    @reading("mbar")
    def pressure(self) -> float:
        return 900

Reader().read("600")
Reader().serve()
`
const arm = `
from typing import Optional
from benchd_bridge import Interlock, Labware, Point, Transporter, Where

class Arm(Transporter):
    points = "taught"
    skills = ("gateway", "access")

    async def home(self) -> None: ...

    def pick(self, labware: Labware, position: str, point: Point) -> None:
        if labware["barcode"] is None or point["coords"]["z"] < 0:
            raise Interlock(labware["type"])
        for gateway in point["gateways"]:
            print(gateway["coord_type"], point["access"])
        print(point["colour"])

    def place(self, labware: Labware, position: str, point: Point) -> None: ...

    def where(self) -> Where:
        return {"state": "idle", "gripper": "open"}

    def halt(self) -> None: ...

Arm().serve()
`

test('a program with a client beside it passes mypy --strict, which finds what is missing or wrong', { skip: noMypy }, (t) => {
  const folder = t.testdir()
  const names = ['benchd.py', 'benchd_bridge.py', 'benchd_bridge_pylabrobot.py', 'benchd_bridge_arms.py', 'benchd_pylabrobot.py']
  for (const name of names) cpSync(clients + name, `${folder}/${name}`)
  writeFileSync(`${folder}/evening.py`, evening)
  writeFileSync(`${folder}/reader.py`, reader)
  writeFileSync(`${folder}/arm.py`, arm)
  const { stdout } = spawnSync('mypy', ['--strict', '--cache-dir', '/dev/null', '.'], { cwd: folder, encoding: 'utf8' })
  t.same(
    stdout
      .split('\n')
      .filter((line) => line.includes(': error: '))
      .sort(),
    [
      'arm.py:16: error: TypedDict "Point" has no key "colour"  [typeddict-item]',
      'arm.py:21: error: Incompatible types (expression has type "Literal[\'open\']", TypedDict item "gripper" has type "Optional[Literal[\'empty\', \'full\']]")  [typeddict-item]',
      'evening.py:24: error: Unexpected keyword argument "state" for "runs" of "Bench"  [call-arg]',
      'evening.py:29: error: Missing named argument "duration" for "__call__" of "_shake"  [call-arg]',
      'reader.py:16: error: Argument 1 to "read" of "Reader" has incompatible type "str"; expected "int"  [arg-type]',
    ],
  )
  t.end()
})
