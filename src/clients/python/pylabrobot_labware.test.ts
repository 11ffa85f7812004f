// The names of labware that callers give to a class of PyLabRobot behind a bridge.

import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { programFile } from '../../testing/bridges.ts'
import { withPython } from '../../testing/python.ts'

const resources = `
called = []
class Resource:
    def __init__(self, name: str): self.name = name
class Plate(Resource): pass
def set_tracking(enabled=False): called.append("set_tracking")
def plate_of(name: str) -> Plate: return Plate(name)
def rack_of(name: str): return Plate(name)
def text_of(name: str): return name
def unfinished(name: str) -> Plate: raise NotImplementedError("not measured yet")
for number in range(100): globals()[f"plate_{number}"] = plate_of
`

const program = `
import json
import benchd_bridge_pylabrobot as library
from benchd_bridge import Invalid
from pylabrobot.resources import Plate, called
class Reader:
    async def read(self, plate: Plate): return plate.name
method = library.Method("read", Reader, library.Options(), ())
def outcome(name):
    try: return method.arguments({"plate": name})["plate"].name
    except Invalid as error: return str(error)
said = [outcome(name) for name in ("plate_7", "set_tracking", "unfinished", "called", "plat_7", "rack_of", "text_of")]
for number in range(100): outcome(f"plate_{number}")
print(json.dumps([said, called, len(library.labware.known)]))
`

withPython('a name from the network calls nothing but labware, whatever it raises, and few labware stay in memory', async (t) => {
  const folder = dirname(programFile(t, ''))
  mkdirSync(`${folder}/pylabrobot`)
  writeFileSync(`${folder}/pylabrobot/__init__.py`, '')
  writeFileSync(`${folder}/pylabrobot/resources.py`, resources)
  const { stdout, stderr } = spawnSync('python3', ['-c', program], { cwd: folder, encoding: 'utf8' })
  const said = [
    'plate_7',
    "plate: PyLabRobot has no labware 'set_tracking'",
    "plate: PyLabRobot cannot make 'unfinished': NotImplementedError: not measured yet",
    "plate: PyLabRobot has no labware 'called'",
    "plate: PyLabRobot has no labware 'plat_7'; did you mean plate_7?",
    'rack_of',
    "plate: 'text_of' of PyLabRobot is no labware",
  ]
  t.same(stdout && JSON.parse(stdout), [said, [], 64], stderr)
})
