// Variables of groups in runs: in parameters, in code, in forecasts, and after a restart.

import { test } from 'tap'
import { byHand, oneArm, workflowOf } from '../../testing/documents.ts'
import { begin, Kept, run, takeUp, testRuntime, threadIn } from '../../testing/workflow.ts'
import type { Doing } from '../plans/author.ts'

const pads = ['pad_1', 'pad_2', 'pad_3']
const bench = oneArm({
  pads,
  storages: ['stack'],
  nests: { nest_1: 'mixer' },
  sites: { mixer: 2 },
  operations: { mixer: { mix: null, rinse: null } },
})
const groups = [
  { group_id: 'a', members: { plate: { location: 'pad_1' } }, variables: { duration: 100, who: 'a' } },
  { group_id: 'b', members: { plate: { location: 'pad_2' } }, variables: { duration: 200 } },
  { group_id: 'c', members: { plate: { location: 'pad_3' } } },
]
const variables = { duration: { default: 300 }, who: { default: 'default' } }

test('each plate is treated with the values of its group, also in code and in a dry run', async (t) => {
  const said: string[] = []
  const hear = async (ctx: Doing) => void said.push(`${ctx.labware.plate?.name} ${ctx.variable('who')}`)
  const document = workflowOf(
    'work',
    {
      plate: {
        ...byHand('pad_1'),
        end: { at: pads },
        steps: [
          { action: { do: 'mix', on: 'mixer', with: { duration: { variable: 'duration' } } } },
          { action: { name: 'hear', body: hear } },
        ],
      },
    },
    { variables },
  )
  const { runtime, told } = testRuntime([bench, document])
  const asked = { workflow: 'work', groups, variables: { who: 'all' } }
  await run(runtime, asked)
  const mixes = told.filter(
    ({ entity_type, status, context }) => entity_type === 'ACTION' && status === 'EXECUTING_ACTION' && context.operation === 'mix',
  )
  t.same(mixes.map(({ context }) => [context.group_id, (context.params as { duration: number }).duration]).sort(), [
    ['a', 100],
    ['b', 200],
    ['c', 300],
  ])
  t.same(said.sort(), ['plate a', 'plate-2 all', 'plate-3 all'])
  const { gantt } = await runtime.dryRuns.simulate({ ...asked, run_mode: 'PURE_SIM', batch_mode: 'STANDALONE', operator_id: null })
  t.same(
    gantt.flatMap(({ device, from_s, to_s, name }) => (device === 'mixer' && name !== 'hear' ? [Math.round(to_s - from_s)] : [])).sort(),
    [100, 200, 300],
  )
})

test('labware that serves all groups has the values of the submission', async (t) => {
  const mix = { do: 'mix', on: 'mixer', labware: ['plate', 'rack'], with: { duration: { variable: 'duration' } } }
  const rinse = { do: 'rinse', on: 'mixer', with: { duration: { variable: 'duration' } } }
  const document = workflowOf(
    'work',
    {
      plate: { ...byHand('pad_1'), end: { at: pads }, steps: [{ method: 'mix_it' }] },
      rack: {
        start: { at: 'stack', mode: 'DISPENSE' },
        end: { at: ['stack'], mode: 'LEAVE_IN_PLACE' },
        steps: [{ while_more_work: [{ join: ['mix_it'] }] }, { action: rinse }],
      },
    },
    {
      labware: { plate: { type: '96-well' }, rack: { type: 'tips', group_sharing: 'SHARED_ACROSS_GROUPS' } },
      methods: { mix_it: [mix] },
      ...{ start: ['plate'], variables: { duration: {} } },
    },
  )
  const { runtime, told } = testRuntime([bench, document])
  const of = groups.slice(0, 2).map(({ variables: { duration = 0 } = {}, ...group }) => ({ ...group, variables: { duration } }))
  await t.rejects(run(runtime, { workflow: 'work', groups: of }), {
    code: 'invalid',
    message: /wants a value for duration, which has no default/,
  })
  await run(runtime, { workflow: 'work', groups: of, variables: { duration: 900 } })
  const [rinsed] = told.filter(({ status, context }) => status === 'EXECUTING_ACTION' && context.operation === 'rinse')
  t.match(rinsed?.context, { group_id: null, params: { duration: 900 } })
})

test('a run that is restored goes on with the values of its groups', async (t) => {
  const mix = { do: 'mix', on: 'mixer', with: { duration: { variable: 'duration' } } }
  const document = workflowOf(
    'work',
    { plate: { ...byHand('pad_1'), end: { at: pads }, steps: [{ action: { instruct: 'Look' } }, { action: mix }] } },
    { variables },
  )
  const kept = new Kept()
  const before = testRuntime([bench, document], { keep: () => kept })
  const execution = await begin(before.runtime, { workflow: 'work', groups: groups.slice(0, 2) })
  await threadIn(execution, 'plate', 'EXECUTING_ACTION').catch(() => undefined)
  await kept.persist()
  t.ok(kept.all.length > 0)
  const restored = await takeUp(testRuntime([bench, document]).runtime, kept.all.at(-1)!)
  for (const [group_id, duration] of [
    ['a', 100],
    ['b', 200],
    [null, 300],
  ] as const)
    t.equal(restored.variable('duration', { submission_id: restored.submissions[0]!.submission_id, group_id }), duration)
})
