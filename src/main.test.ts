import { setTimeout as after } from 'node:timers/promises'
import { test } from 'tap'
import { demo } from './testing/cli.ts'
import type { RunMode } from './workflow/state/modes.ts'
import type { LabwareThread } from './workflow/threads/thread.ts'

/** Longer than any test waits, for every limit and delay of these runs. */
const long_s = 36_000
const shake = { do: 'shake', on: 'shaker-1', with: { speed: 500, duration: long_s } }
const start = { at: 'pad_1', mode: 'REUSE_EXISTING' }
const end = { at: ['pad_1', 'pad_2', 'pad_3'], mode: 'LEAVE_IN_PLACE' }

const workflowOf = (name: string, steps: object[], more: { other?: object } = {}) => ({
  format: 1,
  name,
  topology: 'demo',
  labware: { plate: { type: '96-well' }, ...(more.other !== undefined && { other: { type: '96-well' } }) },
  methods: { shake_it: [shake] },
  threads: { plate: { labware: 'plate', start, end, steps }, ...more },
  start: ['plate', ...Object.keys(more)],
})

const other = { labware: 'other', start: { ...start, at: 'pad_2' }, end, steps: [{ method: 'shake_it' }] }

type State = { steps: object[]; more?: { other?: object }; isThere(threads: LabwareThread[]): boolean }

const waitsFor = (kind: string) => (threads: LabwareThread[]) => threads.some(({ control: { waiting } }) => waiting?.kind === kind)

/** The states of a run in which the service may be told to end, as steps that lead into them. */
const states: Record<string, State> = {
  'waits for an event': { steps: [{ wait_for: 'never', timeout: long_s }], isThere: waitsFor('event') },
  'waits for a person': { steps: [{ action: { instruct: 'Look at it', timeout: long_s } }], isThere: waitsFor('operator') },
  'is in an operation': {
    steps: [{ method: 'shake_it' }],
    isThere: (threads) => threads.some(({ status }) => status.current === 'EXECUTING_ACTION'),
  },
  'waits for a place': { steps: [{ method: 'shake_it' }], more: { other }, isThere: waitsFor('reservation') },
  'is in a move': { steps: [{ method: 'shake_it' }], isThere: (threads) => threads.some(({ carrying }) => carrying !== null) },
}

const devices = ['shaker-1', 'arm-1']

const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length

const modes: Record<RunMode, [string, State][]> = {
  LIVE: Object.entries(states),
  DEVICE_SIM: Object.entries(states),
  // Its time jumps over everything that takes time.
  PURE_SIM: [['waits for an event', { ...states['waits for an event']!, steps: [{ wait_for: 'never' }] }]],
}

for (const [run_mode, those] of Object.entries(modes) as [RunMode, [string, State][]][]) {
  for (const [name, { steps, more, isThere }] of those) {
    test(`no timer is left of a service that ends while a run in ${run_mode} ${name}`, async (t) => {
      const before = timers()
      const { service, ask } = await demo(t, { scale: 20 })
      await ask('PUT', '/api/workflows/patient', workflowOf('patient', steps, more))
      if (run_mode === 'LIVE') for (const device of devices) await ask('POST', `/api/devices/${device}/initialize`)
      const { execution_id } = (await ask('POST', '/api/submissions', { workflow: 'patient', run_mode })) as { execution_id: string }
      const { runtime } = service.bench.runs
      const { threads } = runtime.runs.get(execution_id)!
      while (!isThere([...threads.values()])) await after(10)
      const told = performance.now()
      await service.close()
      t.comment(`closed in ${Math.round(performance.now() - told)} ms`)
      // A timer of the requests above goes by itself, soon. A timer of the run would ring in half an hour.
      while (timers() > before) await after(10)
      t.ok(timers() <= before)
    })
  }
}
