// A program in Python that carries labware: a LIVE run uses it as any other transporter, and a stop, a lie and a refusal are those of an arm.

import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Test } from 'tap'
import { arm, armAt, programFile, until } from '../testing/bridges.ts'
import { oneArm, standing, workflowOf } from '../testing/documents.ts'
import { isRefusal, openService } from '../testing/http.ts'
import { withPython } from '../testing/python.ts'

const topology = oneArm({ name: 'bridged', arm: 'arm-9', pads: ['pad'], nests: { shaker_in: 'shaker-1' } })
const workflow = workflowOf(
  'carry-it',
  { plate: { ...standing('pad'), steps: [{ method: 'shake_it' }] } },
  { topology: 'bridged', methods: { shake_it: [{ do: 'shake', on: 'shaker-1', with: { speed: 500, duration: 5 } }] } },
)
const shaker = { device_id: 'shaker-1', driver: 'bioshake', transport: { kind: 'simulated' } }

/** A bench with a shaker and the transporter, on which the workflow is loaded. */
async function setup(t: Test, source = arm, more: object = {}, library = '') {
  const path = programFile(t, source)
  const topologies = dirname(path)
  writeFileSync(`${topologies}/vendor.py`, library)
  writeFileSync(`${topologies}/bridged.json`, JSON.stringify(topology))
  const service = await openService(t, { devices: [armAt(path, more), shaker] }, { topologies })
  const { ask, bench } = service
  const instrument = bench.registry.find('arm-9')
  await until(() => instrument.abilities.isUndescribed === false)
  const granted = async (method: string, url: string, json?: object) => {
    const reply = await ask(method, url, { ...(json && { json }) })
    if (reply.status > 202) throw new Error(`${method} ${url}: ${reply.status} ${reply.text}`)
    return reply.body as Record<string, unknown>
  }
  await granted('POST', '/api/topology/load', { name: 'bridged' })
  await granted('PUT', '/api/workflows/carry-it', workflow)
  const submit = (run_mode: string) => ask('POST', '/api/submissions', { json: { workflow: 'carry-it', run_mode } })
  const run = async (run_mode = 'LIVE') => {
    const { status, body, text } = await submit(run_mode)
    if (status !== 202) throw new Error(text)
    const { execution_id } = body as { execution_id: string }
    if (run_mode === 'LIVE') {
      const { threads } = (await granted('GET', `/api/executions/${execution_id}`)) as { threads: { thread_id: string }[] }
      await until(async () => (await ask('POST', `/api/threads/${threads[0]!.thread_id}/placed`, { json: {} })).status === 200)
    }
    const over = () => bench.runs.runtime.over(bench.runs.runtime.runs.get(execution_id)!)
    const statusNow = async () => ((await granted('GET', `/api/executions/${execution_id}`)) as { status: string }).status
    const incidents = async () =>
      ((await granted('GET', `/api/incidents?execution_id=${execution_id}`)) as { incidents: { category: string; message: string }[] })
        .incidents
    return { execution_id, over, status: statusNow, incidents }
  }
  const log = () => (existsSync(`${path}.log`) ? readFileSync(`${path}.log`, 'utf8').trim().split('\n') : [])
  const labware = async () => ((await granted('GET', '/api/labware')) as { labware: object[] }).labware
  return { ...service, path, instrument, granted, submit, run, log, labware }
}

const moves = (log: readonly string[]) => log.filter((line) => /^(pick|place) (?!begins|ends)/.test(line))

withPython('a LIVE run carries labware with a program that knows its positions', async (t) => {
  const { run, log, ask } = await setup(t)
  const { over, status } = await run()
  await over()
  t.equal(await status(), 'COMPLETED')
  t.same(log(), [
    ...['home', 'plate 96-well None', 'pick begins', 'pick ends', 'pick pad', 'place begins', 'place ends', 'place shaker_in'],
    ...['plate 96-well None', 'pick begins', 'pick ends', 'pick shaker_in', 'place begins', 'place ends', 'place pad'],
  ])
  t.match((await ask('GET', '/api/devices/arm-9')).body, { state: 'ready', last_operation: { operation: 'place', params: { at: 'pad' } } })
  const { operations } = (await ask('GET', '/api/devices/arm-9/capabilities')).body as { operations: { name: string }[] }
  t.same(
    operations.map(({ name }) => name),
    ['initialize', 'stop', 'initialized'],
    'its moves are no operations',
  )
})

withPython('a dry run on simulators and without devices works with the description alone', async (t) => {
  const { run, log } = await setup(t)
  for (const mode of ['DEVICE_SIM', 'PURE_SIM']) {
    const { over, status } = await run(mode)
    await over()
    t.equal(await status(), 'COMPLETED', mode)
  }
  t.same(log(), [])
})

withPython('a stop in the middle of a pick halts the program, and the labware is where it stood or in the gripper', async (t) => {
  const { run, log, ask, path, labware, instrument } = await setup(t)
  writeFileSync(`${path}.hold`, 'pick begins')
  const { incidents } = await run()
  await until(() => log().includes('pick begins'))
  t.match((await ask('POST', '/api/devices/arm-9/stop')).body, { success: true, message: 'arm-9 stopped' })
  await until(async () => (await incidents()).some(({ category }) => category === 'MOVE_FAILED'))
  t.match(await labware(), [{ position: 'pad', place: 'at pad or held by arm-9' }])
  t.equal(instrument.state, 'stopped')
  rmSync(`${path}.hold`)
  t.same(moves(log()), [])
  t.ok(log().includes('halt'))
})

withPython('a stop whose program says that the arm still moves is not confirmed', async (t) => {
  const { run, log, ask, path } = await setup(t, arm.replace('self.state = "stopped"', 'pass'))
  writeFileSync(`${path}.hold`, 'pick begins')
  await run()
  await until(() => log().includes('pick begins'))
  t.match((await ask('POST', '/api/devices/arm-9/stop')).body, { success: false, message: 'arm-9: stop sent, not confirmed' })
  t.match((await ask('GET', '/api/devices/arm-9')).body, { may_still_be_on: true })
  rmSync(`${path}.hold`)
})

for (const [what, change, words, place] of [
  [
    'lies about its gripper after a pick',
    (source: string) => source.replace('"w").write(gripper)', '"w").write("empty")'),
    /says that pick is done, and its gripper is empty/,
    'at pad or held by arm-9',
  ],
  [
    'dies in the middle of a pick',
    (source: string) => source.replace('self.reach(f"{verb} begins")', 'self.reach(f"{verb} begins"); os._exit(7)'),
    /it ended with exit status 7/,
    'at pad or held by arm-9',
  ],
  [
    'dies in the middle of a place',
    (source: string) => source.replace('self.reach(f"{verb} begins")', 'self.reach(f"{verb} begins"); verb == "place" and os._exit(7)'),
    /it ended with exit status 7/,
    'at pad or held by arm-9 or at shaker_in',
  ],
] as const)
  withPython(`a program that ${what} holds the thread, and no move is repeated`, async (t) => {
    const { run, log, labware } = await setup(t, change(arm))
    const { incidents } = await run()
    const failed = await until(async () => (await incidents()).find(({ category }) => category === 'MOVE_FAILED'))
    t.match(failed.message, words)
    t.match(await labware(), [{ place }])
    const begun = log().filter((line) => line.endsWith(' begins'))
    t.equal(new Set(begun).size, begun.length, 'each motion began once')
  })

withPython('a transporter that nothing stops is refused in LIVE, unless the configuration accepts that', async (t) => {
  const unstoppable = arm.replace('points = "own"', 'points = "own"\n    can_halt = False')
  const { submit, run } = await setup(t, unstoppable)
  const refused = await submit('LIVE')
  isRefusal(t, refused, 400, 'invalid')
  t.match(refused.body, {
    detail:
      /cannot run in LIVE, only in DEVICE_SIM and PURE_SIM: arm-9: no stop ends its motion; .* accept the risk by "uninterruptible": true in its settings/,
  })
  const { over, status } = await run('DEVICE_SIM')
  await over()
  t.equal(await status(), 'COMPLETED')
  const accepted = await setup(t, unstoppable, { settings: { uninterruptible: true } })
  const live = await accepted.run()
  await live.over()
  t.equal(await live.status(), 'COMPLETED')
})

/** The library of the arm in the guide. Each motion takes a moment. */
const vendor = `
import time
def note(words):
    with open(__file__ + ".log", "a") as log:
        log.write(words + "\\n")
class Robot:
    until, homed, full = 0, False, False
    def __init__(self, host): note(f"connects to {host}")
    def start(self, words): note(words); self.until = time.monotonic() + 0.02
    def start_homing(self): self.start("homes"); self.homed = True
    def start_move(self, coords): self.at = coords; self.start(f"goes to {coords['x']} {coords['z']}")
    def start_closing(self): self.start("closes"); self.full = True
    def start_opening(self): self.start("opens"); self.full = False
    def is_moving(self): return time.monotonic() < self.until
    def is_homed(self): return self.homed
    def holds_something(self): return self.full
    def pose(self): return self.at if hasattr(self, "at") else None
    def stop(self): note("stops"); self.until = 0
`

withPython('the arm of the guide works as it stands there', async (t) => {
  const guide = readFileSync(new URL('../../../drivers/README.md', import.meta.url), 'utf8')
  const program = guide
    .split('```python\n')
    .find((text) => text.includes('class Robot'))!
    .split('```')[0]!
  t.ok(program.trim().split('\n').length <= 40)
  const { run, ask, granted, path } = await setup(t, program, {}, vendor)
  const coords = (x: number) => ({ x, y: 0, z: 10, yaw: 0, pitch: 0, roll: 0 })
  const point = (name: string, x: number, more = {}) => ({ device_id: 'arm-9', name, coord_type: 'cartesian', coords: coords(x), ...more })
  await granted('POST', '/api/teachpoints/bulk', [point('pad', 1), point('hall', 2), point('shaker_in', 3, { gateway: 'hall' })])
  const { over, status } = await run()
  await over()
  t.equal(await status(), 'COMPLETED')
  const did = readFileSync(`${dirname(path)}/vendor.py.log`, 'utf8')
    .trim()
    .split('\n')
  t.same(did.slice(0, 12), [
    ...['connects to 192.168.0.10', 'homes', 'goes to 1 70', 'goes to 1 10', 'closes', 'goes to 1 70'],
    ...['goes to 2 10', 'goes to 3 70', 'goes to 3 10', 'opens', 'goes to 3 70', 'goes to 2 10'],
  ])
  t.match((await ask('GET', '/api/devices/arm-9/pose')).body, { coord_type: 'cartesian', coords: { x: 1, z: 70 } })
  t.match((await ask('POST', '/api/devices/arm-9/stop')).body, { success: true })
})
