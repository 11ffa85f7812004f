import { test } from 'tap'
import { dispensed, severalArms, workflowOf } from '../../../testing/documents.ts'
import type { Loose } from '../../../testing/plans.ts'
import { Dice } from '../../../testing/simulation/scene.ts'
import { trials } from '../../../testing/trials.ts'
import { testRuntime } from '../../../testing/workflow.ts'
import type { Bar } from '../../dry_run.ts'

const hop_s = 12

function between(dice: Dice, least: number, most: number): number {
  return least + dice.below(most - least + 1)
}

/** Stages of one to three devices each, one or two arms with a place between them, and parking for every plate. */
function benchOf(dice: Dice, plates: number): Loose {
  const stages = Array.from({ length: between(dice, 2, 4) }, (_, i) =>
    Array.from({ length: between(dice, 1, 3) }, (_, k) => `s${i + 1}-${k + 1}`),
  )
  const devices = stages.flat()
  const pads = Array.from({ length: plates }, (_, i) => `pad-${i + 1}`)
  const far = between(dice, 0, 1) === 0 ? [] : devices.filter(() => between(dice, 0, 2) === 0)
  const near = devices.filter((device) => !far.includes(device))
  const reach = { arm: ['stack', 'bin', ...pads, ...near, ...(far.length ? ['between'] : [])] }
  return severalArms(far.length ? { ...reach, 'arm-2': ['between', ...far] } : reach, {
    ...{ parking: pads, storages: ['stack', 'bin'], nests: devices },
    operations: Object.fromEntries(devices.map((device) => [device, { work: null }])),
    pools: Object.fromEntries(stages.map((members, i) => [`stage-${i + 1}`, members])),
  })
}

/** Two kinds of plates that go through the stages, each in an order of its own. */
function workOf(dice: Dice, bench: Loose): Loose {
  const stages = Object.keys(bench.pools)
  const longest = 2 + (bench.transporters['arm-2'] ? 1 : 0)
  const actions = () =>
    Array.from({ length: between(dice, 2, 5) }, () => {
      const on = stages[between(dice, 0, stages.length - 1)]!
      const max_wait_after = between(dice, 0, 1) === 0 ? undefined : (2 * longest + 1) * hop_s + between(dice, 0, 10) * 12
      return { do: 'work', on, seconds: between(dice, 1, 40) * 10, ...(max_wait_after !== undefined && { max_wait_after }) }
    })
  const thread = (method: string) => ({ ...dispensed('stack', 'bin'), steps: [{ method }] })
  const methods = { 'do-a': actions(), 'do-b': actions() }
  return workflowOf('work', { a: thread('do-a'), b: thread('do-b') }, { methods })
}

function sceneOf(seed: number) {
  const dice = new Dice(seed)
  const groups = Array.from({ length: between(dice, 1, 4) }, (_, i) => ({ group_id: `g${i + 1}`, members: {} }))
  const bench = benchOf(dice, groups.length * 2)
  return { groups, bench, work: workOf(dice, bench) }
}

function tried({ groups, bench, work }: ReturnType<typeof sceneOf>) {
  const { runtime } = testRuntime([bench, work])
  return runtime.dryRuns.simulate({
    workflow: 'work',
    run_mode: 'PURE_SIM',
    groups,
    batch_mode: 'STANDALONE',
    variables: {},
    operator_id: null,
  })
}

/** The next action of its thread begins later after it than was allowed. */
function isLate(
  { thread_name, to_s, kind }: Bar,
  gantt: readonly Bar[],
  allowed: ReadonlyMap<string, readonly (number | undefined)[]>,
): boolean {
  const actions = gantt.filter((bar) => bar.kind === 'action' && bar.thread_name === thread_name)
  const i = actions.findIndex((bar) => bar.to_s === to_s)
  const next = actions[i + 1]
  const most = allowed.get(`do-${thread_name[0]}`)?.[i]
  return kind === 'action' && most !== undefined && next !== undefined && next.from_s - to_s > most
}

// Of the first ten thousand scenes two miss one: 6919 and 7745.
const seeds = Array.from({ length: trials(150, 40) }, (_, i) => i + 1)

test('windows that allow each hop to wait for one other hold on any bench, and no run comes to stand because of them', async (t) => {
  const wrong: string[] = []
  for (const seed of seeds) {
    const { verdict, conflict } = await tried(sceneOf(seed))
    if (verdict !== 'completes' || conflict) wrong.push(`seed ${seed}: ${verdict}, ${conflict}`)
  }
  t.same(wrong, [])
})

test('the same windows are missed where nobody is told of them', async (t) => {
  let missed = 0
  const some = seeds.slice(0, 60)
  for (const seed of some) {
    const scene = sceneOf(seed)
    const allowed = new Map<string, (number | undefined)[]>()
    for (const [name, actions] of Object.entries<Loose[]>(scene.work.methods)) {
      allowed.set(
        name,
        actions.map(({ max_wait_after }) => max_wait_after),
      )
      for (const action of actions) delete action.max_wait_after
    }
    const { gantt } = await tried(scene)
    if (gantt.some((bar) => isLate(bar, gantt, allowed))) missed++
  }
  t.ok(missed > some.length / 3, `${missed} of ${some.length}`)
})
