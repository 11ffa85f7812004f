// A service that is killed at random moments of a run that measures: each value that it showed stays, once and with its plate, and so does its timeline.

import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { bridgeTo, programFile, until } from '../testing/bridges.ts'
import { oneArm, standing, workflowOf } from '../testing/documents.ts'
import { type Killable, killable } from '../testing/killable.ts'
import { withPython } from '../testing/python.ts'
import { seeded } from '../testing/seeded.ts'
import { trials } from '../testing/trials.ts'

const kills = trials(100, 8)
/** The most rounds of a repeat, which are more than the kills need. The run is stopped at its end. */
const rounds = 1000
/** The most values that a round waits for before it kills. */
const mostValues = 12

/** Counts its readings, over all its processes, before it answers. */
const counter = `
from benchd_bridge import *

class Counter(Bridge):
    type = "reader"

    @operation(seconds=0.01, leaves_on=None)
    def read(self) -> dict:
        """Read a plate"""
        with open(__file__ + ".log", "a+") as log:
            log.seek(0)
            count = len(log.readlines())
            log.write("read\\n")
        return {"count": count, "spectrum": [count + i / 1000 for i in range(1000 if count % 10 == 0 else 3)]}

Counter().serve()
`

type Value = { name: string; value?: unknown; sha256?: string; labware: string; operation_id: string; action_id: string }
type Row = { action_id: string; status: string; created: number; started: number | null; ended: number | null }

/** The readers, and the plate that stands in each. */
const readers = { 'reader-1': 'one', 'reader-2': 'two' }

async function measuring(t: Test) {
  const topology = oneArm({ name: 'readers', arm: 'hands', pads: ['pad_1'], nests: { nest_1: 'reader-1', nest_2: 'reader-2' } })
  const plate = (nest: string, device: string) => ({
    ...standing(nest),
    steps: [{ repeat: { times: rounds }, steps: [{ method: `with_${device}` }] }],
  })
  const workflow = workflowOf(
    'measure',
    { one: plate('nest_1', 'reader-1'), two: plate('nest_2', 'reader-2') },
    {
      topology: 'readers',
      methods: Object.fromEntries(Object.keys(readers).map((device) => [`with_${device}`, [{ do: 'read', on: device }]])),
    },
  )
  const paths = Object.fromEntries(Object.keys(readers).map((device_id) => [device_id, programFile(t, counter)]))
  const hands = { device_id: 'hands', driver: 'person' }
  const devices = [hands, ...Object.entries(paths).map(([device_id, path]) => bridgeTo(path, { device_id }))]
  const service = await killable(t, { config: { devices }, topologies: { readers: topology } })
  for (const device of Object.keys(readers)) {
    await service.granted('POST', `/api/devices/${device}/initialize`)
  }
  await service.granted('POST', '/api/system/reload', {})
  await service.granted('POST', '/api/topology/load', { name: 'readers' })
  await service.granted('PUT', '/api/workflows/measure', workflow)
  return { service, paths }
}

/** Has the run go on after a start. Resuming repeats the readings that were cut off. */
async function goOn({ granted }: Killable, execution: string): Promise<void> {
  for (const device of Object.keys(readers)) await granted('POST', `/api/devices/${device}/initialize`)
  await granted('POST', `${execution}/resume`, {})
}

withPython(`values and the timeline outlast ${kills} kills of the service, once each and with their plate`, async (t) => {
  const random = seeded(1)
  const { service, paths } = await measuring(t)
  const { execution_id } = await service.granted<{ execution_id: string }>('POST', '/api/submissions', {
    workflow: 'measure',
    run_mode: 'LIVE',
  })
  const execution = `/api/executions/${execution_id}`
  const { threads } = await service.granted<{ threads: { thread_id: string }[] }>('GET', execution)
  for (const { thread_id } of threads) await service.granted('POST', `/api/threads/${thread_id}/placed`, {})
  const values = async () => (await service.granted<{ values: Value[]; damaged: number }>('GET', `${execution}/values`)).values
  const timeline = async () => (await service.granted<{ rows: Row[] }>('GET', `${execution}/timeline`)).rows
  let seen: Value[] = []
  let ended: Row[] = []
  for (let kill = 1; kill <= kills; kill++) {
    const enough = seen.length + 2 + Math.floor(random() * mostValues)
    await until(async () => (await values()).length >= enough)
    seen = await values()
    ended = (await timeline()).filter((row) => row.ended !== null)
    await sleep(random() * 30)
    await service.kill()
    await service.start()
    t.same((await values()).slice(0, seen.length), seen, `kill ${kill}: the values that were shown are there`)
    const after = new Map((await timeline()).map((row) => [row.action_id, row]))
    t.same(
      ended.map(({ action_id }) => after.get(action_id)),
      ended,
      `kill ${kill}: the timeline is the same`,
    )
    await goOn(service, execution)
  }
  await service.granted('POST', `${execution}/stop`, {})
  const all = await values()
  t.equal(new Set(all.map(({ operation_id, name }) => `${operation_id} ${name}`)).size, all.length, 'no value is there twice')
  for (const [device_id, plate] of Object.entries(readers)) {
    const counts = all.filter(({ labware, name }) => labware === plate && name === 'count').map(({ value }) => Number(value))
    t.same(
      counts,
      counts.toSorted((one, other) => one - other),
      'in the order in which they were taken',
    )
    t.equal(new Set(counts).size, counts.length, 'each reading is there once, and of one plate')
    const taken = readFileSync(`${paths[device_id]}.log`, 'utf8').split('\n').length - 1
    // A kill may take the answer of a reading that is under way.
    t.ok(counts.length >= taken - kills - 1, `${device_id} took ${taken}, and ${counts.length} are kept`)
  }
  const long = all.find(({ sha256 }) => sha256)!
  const { value } = await service.granted<{ value: number[] }>('GET', `${execution}/values/${long.sha256}`)
  t.equal(value.length, 1000)
})
