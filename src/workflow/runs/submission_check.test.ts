// Groups that are put into a run that is open already.

import { test } from 'tap'
import { dispensed, oneArm, workflowOf } from '../../testing/documents.ts'
import { begin, testRuntime, threadIn, until } from '../../testing/workflow.ts'

const topology = oneArm({
  ...{ parking: ['pad_1', 'pad_2'], storages: ['rack', 'bin'], nests: { deck: 'robot' } },
  ...{ sites: { robot: 2 }, operations: { robot: { pour: 60 } } },
})
const journey = dispensed('rack', 'bin')
const workflow = workflowOf(
  'poured',
  {
    plate: { ...journey, steps: [{ wait_for: 'go' }, { method: 'pour_it' }] },
    cup: { ...journey, steps: [{ while_more_work: [{ join: ['pour_it'] }] }] },
  },
  {
    labware: { plate: { type: '96-well' }, cup: { type: 'cup', group_sharing: 'SHARED_ACROSS_GROUPS', submission_batching: 'BATCHABLE' } },
    methods: { pour_it: [{ do: 'pour', on: 'robot', labware: ['plate', 'cup'] }] },
    start: ['plate'],
  },
)
const group = (group_id: string) => [{ group_id, members: {} }]

/** A run whose cup stands at a pad at its start, and whose plate waits for no event. */
function cupAtPad() {
  const { plate, cup } = workflow.threads
  const threads = { plate: { ...plate, steps: [{ method: 'pour_it' }] }, cup: { ...cup, start: { at: 'pad_1' } } }
  const { runtime } = testRuntime([topology, { ...workflow, threads }])
  return begin(runtime, { workflow: 'poured', groups: group('g1') })
}

test('groups join the open run of their workflow whichever way that began; labware is batched only if it began so as to be joined', async (t) => {
  for (const [batch_mode, cups] of [
    ['STANDALONE', 2],
    ['JOIN_EXISTING', 1],
  ] as const) {
    const { runtime } = testRuntime([topology, workflow])
    const execution = await begin(runtime, { workflow: 'poured', batch_mode, groups: group('g1') })
    await threadIn(execution, 'plate', 'AWAITING_EVENT')
    const joined = await begin(runtime, { workflow: 'poured', batch_mode: 'JOIN_EXISTING', groups: group('g2') })
    t.equal(joined, execution)
    t.equal(execution.submissions.length, 2)
    await until(() => {
      execution.events.emitCustom('go', { value: null, data: {} }, null)
      return execution.isOver
    })
    t.equal(execution.phase.current, 'completed')
    t.equal([...execution.threads.values()].filter(({ plan }) => plan.name === 'cup').length, cups, batch_mode)
  }
})

test('labware that is put out of the way while it waits for a site looks for the site again where it stands then', async (t) => {
  const execution = await cupAtPad()
  const { scheduler } = execution.environment
  const [hasSite, request] = [scheduler.holds.hasSite.bind(scheduler.holds), scheduler.request.bind(scheduler)]
  let isFree = false
  scheduler.holds.hasSite = (...asked) => isFree && hasSite(...asked)
  scheduler.holds.threadsAt = () => ['another']
  let park = (_position: string) => {}
  scheduler.request = (asked, again) => {
    const ticket = request(asked, again)
    if (asked.candidates.length > 0) return ticket
    park = (position) => {
      ticket.withdraw()
      asked.park!(position, { sequence: 0, parked: 1, since: 0 })
    }
    return ticket
  }
  const brings = () => [...execution.threads.values()].find(({ name }) => name === 'cup')
  await until(() => brings()?.control.waiting?.what === 'a free site at robot', 'the cup waits for a site')
  t.ok(scheduler.holds.keep(brings()!.thread_id, 'pad_2'))
  park('pad_2')
  isFree = true
  await until(() => execution.isOver, 'the end of the run')
  t.equal(execution.phase.current, 'completed')
})

test('labware that waits for a site goes on when the reservation of a site is given up', async (t) => {
  const execution = await cupAtPad()
  const { holds } = execution.environment.scheduler
  const { hasSite, threadsAt } = holds
  holds.hasSite = (...asked) => {
    holds.keep('other', 'deck/site-2')
    holds.hasSite = hasSite
    holds.threadsAt = () => ['other']
    return holds.hasSite(...asked)
  }
  await threadIn(execution, 'plate', 'AWAITING_CO_THREADS')
  await until(
    () => [...execution.threads.values()].some(({ control: { waiting } }) => waiting?.what === 'a free site at robot'),
    'the cup waits for a site',
  )
  holds.threadsAt = threadsAt
  holds.letGo('other', 'deck/site-2')
  await until(() => execution.isOver, 'the end of the run')
  t.equal(execution.phase.current, 'completed')
})

test('labware that comes to a device where other labware stands that no thread moves waits for a decision of a person', async (t) => {
  const execution = await cupAtPad()
  const { holds } = execution.environment.scheduler
  const { hasSite, reserveSite } = holds
  let isFree = false
  holds.hasSite = (...asked) => isFree && hasSite.apply(holds, asked)
  holds.reserveSite = (...asked) => {
    const isTheCup = execution.find(asked[1])?.name === 'cup'
    return isTheCup && !isFree ? undefined : reserveSite.apply(holds, asked)
  }
  const held = await threadIn(execution, 'cup', 'PAUSED')
  t.match(held.last_error, /there is no free site at robot for cup/)
  isFree = true
  held.control.recover('RETRY')
  await until(() => execution.isOver, 'the end of the run')
  t.equal(execution.phase.current, 'completed')
})

test('what is submitted STANDALONE, or without groups, is a run of its own', async (t) => {
  const { runtime } = testRuntime([topology, workflow])
  const first = await begin(runtime, { workflow: 'poured', batch_mode: 'JOIN_EXISTING', groups: group('g1') })
  for (const asked of [{ groups: group('g2') }, { batch_mode: 'JOIN_EXISTING' as const, groups: [] }]) {
    t.not(await begin(runtime, { workflow: 'poured', ...asked }), first)
  }
  for (const execution of runtime.runs.all()) {
    execution.abort('the test is over')
    await runtime.over(execution)
  }
})
