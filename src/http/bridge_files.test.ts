// Files that the program of a bridge gives with the result of an operation.

import { createHash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { demoBench, demoTeachpoints } from '../examples/demo_bench.ts'
import { bridgeTo, programFile, until } from '../testing/bridges.ts'
import { oneArm, standing, workflowOf } from '../testing/documents.ts'
import { openService } from '../testing/http.ts'
import { withPython } from '../testing/python.ts'

const camera = `
import os
from benchd_bridge import *

class Camera(Bridge):
    type = "camera"
    model = "Example"

    @operation(seconds=1, leaves_on=None)
    def look(self) -> dict:
        """Take a picture"""
        path = __file__ + ".csv"
        with open(path, "wb") as file:
            file.write(b"x" * 15_000_000)
        self.attach(path, name="../export 1.csv", media_type="text/csv", note="all wells")
        self.attach(b"<html>", name="report.html", media_type="text/html")
        return {"n": 1}

    @operation(seconds=1, leaves_on=None)
    def measure(self) -> list:
        """Return more than an answer may hold"""
        return list(range(100_000))

    @operation(seconds=1, leaves_on=None)
    def lie(self) -> dict:
        """Give a file that is not there any more"""
        path = __file__ + ".gone"
        with open(path, "wb") as file:
            file.write(b"short")
        self.attach(path, name="gone.csv")
        os.remove(path)
        return {"n": 2}

    def halt(self):
        pass

Camera().serve()
`

const topology = oneArm({ name: 'looking', arm: 'arm-1', pads: ['pad_1'], nests: { shaker_in: 'camera-1' } })
const looks = [
  { do: 'look', on: 'camera-1' },
  { do: 'measure', on: 'camera-1' },
  { do: 'lie', on: 'camera-1' },
]
const workflow = workflowOf(
  'look-at-it',
  { plate: { ...standing('pad_1'), steps: [{ method: 'look_at_it' }] } },
  { topology: 'looking', methods: { look_at_it: looks } },
)

withPython('files of an operation are kept with its plate; one that cannot be fetched is an incident, and the run goes on', async (t) => {
  const path = programFile(t, camera)
  const topologies = `${dirname(path)}/topologies`
  mkdirSync(topologies)
  writeFileSync(`${topologies}/looking.json`, JSON.stringify(topology))
  const device = { ...bridgeTo(path), device_id: 'camera-1', type: 'camera' }
  const { ask, bench } = await openService(t, { devices: [...demoBench.devices, device] }, { topologies })
  await bench.teachpoints.importAll(demoTeachpoints, { overwrite: false })
  for (const [method, url, json] of [
    ['POST', '/api/devices/camera-1/initialize', {}],
    ['POST', '/api/topology/load', { name: 'looking' }],
    ['POST', '/api/system/reload', {}],
    ['PUT', '/api/workflows/look-at-it', workflow],
  ] as const) {
    const { status, text } = await ask(method, url, { json })
    t.ok(status < 300, text)
  }
  const byHand = await ask('POST', '/api/devices/camera-1/perform', { json: { operation: 'look', params: {} } })
  t.match(byHand.body, { success: true, data: { n: 1 } }, 'outside of a run nobody keeps its files')
  const measured = await ask('POST', '/api/devices/camera-1/perform', { json: { operation: 'measure', params: {} } })
  t.match(measured.body, { success: true, data: { file: 'measure.json', bytes: 588_891 } }, 'a long result is a file')
  const groups = [{ group_id: 'g1', members: { plate: { barcode: 'P001' } } }]
  const { body } = await ask('POST', '/api/submissions', { json: { workflow: 'look-at-it', run_mode: 'LIVE', groups } })
  const { execution_id } = body as { execution_id: string }
  const execution = bench.runs.runtime.runs.get(execution_id)!
  const [thread] = execution.threads.keys()
  await until(async () => (await ask('POST', `/api/threads/${thread}/placed`, { json: { barcode: 'P001' } })).status === 200)
  await bench.runs.runtime.over(execution)
  t.equal(execution.phase.current, 'completed')
  const operations = (await ask('GET', '/api/operations?device_id=camera-1')).text
  t.equal(operations.split('"operation":"lie"').length, 2, 'the next operation waits for the files, and is not tried before')
  const of = `/api/executions/${execution_id}`
  const { files } = (await ask('GET', `${of}/files`)).body as { files: { sha256: string }[] }
  const whose = {
    from: 'operation',
    by: null,
    device_id: 'camera-1',
    operation: 'look',
    action_name: 'look',
    labware: 'plate',
    barcode: 'P001',
    group_id: 'g1',
  }
  t.match(files, [
    { name: 'export 1.csv', media_type: 'text/csv', bytes: 15_000_000, note: 'all wells', ...whose },
    { name: 'report.html', media_type: 'text/html', bytes: 6, note: null, ...whose },
    { name: 'measure.json', media_type: 'application/json', bytes: 588_891, ...whose, operation: 'measure', action_name: 'measure' },
  ])
  t.equal(files.length, 3)
  t.ok((await ask('GET', `${of}/files/${files[2]!.sha256}`)).text === JSON.stringify([...Array(100_000).keys()]))
  const { text } = await ask('GET', `${of}/files/${files[0]!.sha256}`)
  t.equal(createHash('sha256').update(text).digest('hex'), files[0]!.sha256)
  t.equal(text.length, 15_000_000)
  const told = async () => ((await ask('GET', `/api/incidents?execution_id=${execution_id}`)).body as { incidents: object[] }).incidents
  // The run does not wait for the files of its last operation.
  await until(async () => (await told()).length > 0)
  const incidents = await told()
  t.match(incidents, [
    { category: 'STORAGE', severity: 'WARNING', message: /the file "gone.csv" that camera-1 gave with lie is not kept: .*gone/ },
  ])
})
