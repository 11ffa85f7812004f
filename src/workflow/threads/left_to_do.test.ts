import { test } from 'tap'
import { byHand, oneArm, standing, workflowOf } from '../../testing/documents.ts'
import { begin, testRuntime } from '../../testing/workflow.ts'
import { PureEquipment } from '../equipment/pure_equipment.ts'
import { movesOf } from '../plans/timing.ts'
import type { RuntimeOptions } from '../runtime_options.ts'
import { wayAhead } from './left_to_do.ts'

const devices = ['d1', 'd2', 'd3']
const bench = oneArm({
  pads: ['in1', 'in2'],
  nests: devices,
  pools: { any: ['d1', 'd2'] },
  sites: { d3: 2 },
  operations: { d1: { work: 10, read: 20 }, d2: { work: 15 }, d3: { work: 30 } },
})
const at = (on: string, more: object = {}) => ({ action: { do: 'work', on, ...more } })

type More = { document?: object; join?: object[] /** The data of each result. */; measured?: object }

/** Returns the way ahead of the labware after so many seconds. A hop takes 12 s. */
async function ahead(seconds: number, steps: object[], { document = {}, join, measured }: More = {}) {
  const threads = { plate: { ...standing('in1'), steps }, ...(join && { tips: { ...byHand('in2'), steps: join } }) }
  const simulate: RuntimeOptions['simulate'] = ({ document }, clock) => {
    const equipment = new PureEquipment({ clock, transporters: movesOf(document) })
    const perform = equipment.perform.bind(equipment)
    equipment.perform = async (...call) => ({ ...((await perform(...call)) as object), data: measured })
    return equipment
  }
  const { runtime } = testRuntime([bench, workflowOf('work', threads, document)], measured ? { simulate } : {})
  const execution = await begin(runtime, { workflow: 'work' })
  const way = await new Promise<ReturnType<typeof wayAhead>>((resolve) => {
    execution.environment.clock.after(seconds * 1000, () => resolve(wayAhead([...execution.threads.values()][0]!)))
  })
  execution.abort('that was all')
  await runtime.over(execution)
  if (!way) return undefined
  return [
    Math.round(way.first_s * 1e6) / 1e6,
    ...way.stops.map(({ devices, seconds, within_s }) => `${devices} ${seconds}${within_s === null ? '' : ` in ${within_s}`}`),
  ]
}

test('methods, actions and delays; work one after the other at the same devices is one stop', async (t) => {
  const methods = { both: [{ do: 'work', on: 'd1' }, { do: 'read', on: 'd1' }, { emit: 'done' }, { do: 'work', on: 'd2' }] }
  const steps = [{ delay: 100 }, { method: 'both' }, { delay: 7 }, at('d3', { seconds: 99 }), at('any')]
  t.same(await ahead(0, steps, { document: { methods } }), [100, 'd1 30', 'd2 22', 'd3 99', 'd1,d2 10,15'])
  t.same(await ahead(60, steps, { document: { methods } }), [40, 'd1 30', 'd2 22', 'd3 99', 'd1,d2 10,15'], 'the rest of the delay')
  // At work in d1 from 112 to 122, then to 142; on its way to d2 until 154, and at work there until 169.
  t.same(await ahead(115, steps, { document: { methods } }), [0, 'd1 20', 'd2 22', 'd3 99', 'd1,d2 10,15'])
  t.same(await ahead(130, steps, { document: { methods } }), [0, 'd2 22', 'd3 99', 'd1,d2 10,15'])
  t.same(await ahead(160, steps, { document: { methods } }), [7, 'd3 99', 'd1,d2 10,15'])
})

test('rounds that have not begun, also of a repeat in a repeat', async (t) => {
  const steps = [{ repeat: { times: 2 }, steps: [{ repeat: { times: 2 }, steps: [at('d1'), at('d2')] }, at('d3')] }]
  const inner = ['d1 10', 'd2 15']
  t.same(await ahead(5, steps), [0, 'd2 15', ...inner, 'd3 30', ...inner, ...inner, 'd3 30'])
  // 12 + 10 + 12 + 15 s: the first inner round ends at 49.
  t.same(await ahead(55, steps), [0, 'd2 15', 'd3 30', ...inner, ...inner, 'd3 30'])
  t.same(await ahead(105, steps), [0, ...inner, ...inner, 'd3 30'])
})

test('a condition is decided by the value that was saved, else by the example; a branch by its default', async (t) => {
  const save = at('d1', { save: { od: 'absorbance' } })
  const steps = [save, { delay: 50 }, { if: { value: 'od', above: 0.5 }, then: [at('d2')], else: [] }, at('d3')]
  const document = { values: { od: { example: 0.7 } } }
  t.same(await ahead(5, steps, { document }), [50, 'd2 15', 'd3 30'])
  t.same(await ahead(30, steps, { document, measured: { absorbance: 0.1 } }), [42, 'd3 30'], 'it was measured at 22 s')
  const branch = (other: object) => [{ delay: 1 }, { branch: 'go', cases: { yes: [at('d1')], no: [at('d2')] }, ...other }, at('d3')]
  t.same(await ahead(0, branch({ else: [at('d2')] })), [1, 'd2 15', 'd3 30'])
  t.same(await ahead(0, branch({})), [1, 'd1 10', 'd3 30'])
})

test('a window before a stop', async (t) => {
  const steps = [at('d1', { max_wait_after: 60 }), { delay: 5 }, at('d2'), at('d3')]
  t.same(await ahead(0, [{ delay: 1 }, ...steps]), [1, 'd1 15', 'd2 15 in 60', 'd3 30'])
  t.same(await ahead(15, steps), [5, 'd2 15 in 60', 'd3 30'], 'also after the present action')
})

test('a thread that takes part in work of others, or whose work needs other labware, is not foretold', async (t) => {
  const shared = (labware: string[]) => ({ document: { methods: { both: [{ do: 'work', on: 'd3', labware }] } } })
  const [own, joined] = [[{ delay: 9 }, { method: 'both' }], [{ join: ['both'] }]]
  t.equal(await ahead(0, own, { ...shared(['plate', 'tips']), join: joined }), undefined)
  t.equal(await ahead(0, joined, { ...shared(['tips', 'plate']), join: own }), undefined)
  const loop = [{ while_more_work: [{ delay: 5 }, ...joined] }]
  t.equal(await ahead(2, loop, { ...shared(['tips', 'plate']), join: own }), undefined)
})

test('a way of more than 2,000 steps is not foretold', async (t) => {
  const repeat = (times: number) => [{ delay: 1 }, { repeat: { times }, steps: [at('d1'), at('d2')] }]
  t.equal((await ahead(0, repeat(990)))?.length, 1981)
  t.equal(await ahead(0, repeat(1000)), undefined)
})
