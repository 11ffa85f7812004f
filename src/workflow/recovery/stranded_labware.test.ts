import { test } from 'tap'
import { oneArm } from '../../testing/documents.ts'
import { liveRuntime } from '../../testing/workflow.ts'
import type { ThreadState } from '../state/run.ts'
import { strandLabware } from './stranded_labware.ts'

const topology = oneArm({ pads: ['a', 'b', 'c'] })

type Left = { seat: string | null; status: string; held_by?: string }

function thread({ seat, status, held_by = undefined }: Left): ThreadState {
  const labware = {
    labware_id: 'p',
    name: 'plate',
    template: 'plate',
    type: '96-well',
    kind: 'plate',
    barcode: null,
    tips: null,
    tips_left: null,
  }
  return { seat, status, labware: { ...labware, state: 'IN_JOURNEY', held_by: held_by ?? null } } as unknown as ThreadState
}

/** The bench with a plate at `stands`, if it is there. */
function bench(stands: string | null) {
  const { runtime } = liveRuntime(topology, [])
  const { scheduler, labware } = runtime.environments.live!
  if (stands !== null) {
    scheduler.put('p', stands, null)
    labware.set('p', { ...thread({ seat: stands, status: '' }).labware, state: 'ENDED' })
  }
  return { runtime, at: () => scheduler.whereIs('p') ?? null, scheduler }
}

const cases: [string, { stands: string | null; left: Left; now: string | null; lost?: object }][] = [
  ['a thread left it where its state says', { stands: null, left: { seat: 'a', status: 'MOVING' }, now: 'a' }],
  ['one that a thread has left stands where it stands', { stands: 'b', left: { seat: 'a', status: 'MOVING' }, now: 'b' }],
  ['a state of another form has it at a thread that has ended', { stands: null, left: { seat: 'a', status: 'STOPPED' }, now: 'a' }],
  ['one that was yet to come is nowhere', { stands: null, left: { seat: null, status: 'CREATED' }, now: null }],
  [
    'one in a gripper is to be looked for, and the place where it was taken up is kept',
    {
      stands: null,
      left: { seat: 'a', status: 'MOVING', held_by: 'arm' },
      now: 'a',
      lost: { category: 'LEDGER_CONTRADICTED', what: /held by arm/ },
    },
  ],
  [
    'so is one whose place is gone',
    {
      stands: null,
      left: { seat: 'z', status: 'MOVING' },
      now: null,
      lost: { category: 'DECK_RECONCILE_CONFLICT', what: /stood at z/ },
    },
  ],
]

for (const [name, { stands, left, now, lost }] of cases) {
  test(`labware of a run that does not go on: ${name}`, (t) => {
    const { runtime, at } = bench(stands)
    const told = strandLabware(runtime.environments.live!, [thread(left)])
    t.equal(at(), now)
    t.equal(told.length, lost ? 1 : 0)
    if (lost) t.match(told, [lost])
    t.equal(runtime.labware().length, now !== null || lost ? 1 : 0, 'and it can be said where it is')
    t.end()
  })
}

test('labware whose place is taken is to be looked for', (t) => {
  const { runtime, scheduler, at } = bench(null)
  scheduler.put('other', 'a', null)
  const told = strandLabware(runtime.environments.live!, [thread({ seat: 'a', status: 'MOVING' })])
  t.match(told, [{ category: 'DECK_RECONCILE_CONFLICT', what: /plate stood at a, and cannot be there now: labware other stands at a/ }])
  t.equal(at(), null)
  t.end()
})
