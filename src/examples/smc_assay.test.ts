import { type Test, test } from 'tap'
import { legacyAssay, legacyTopology } from '../testing/legacy_assay.ts'
import type { Bench } from '../workflow/plans/bench.ts'
import { compileWorkflow } from '../workflow/plans/compile.ts'
import type { ActionPlan, StepPlan, ThreadPlan, Workflow } from '../workflow/plans/plan.ts'
import { refusalFor } from '../workflow/plans/refusal.ts'
import { secondsOf } from '../workflow/plans/timing.ts'
import { compileTopology } from '../workflow/plans/topology.ts'
import { smcAssay, smcTopology } from './smc_assay.ts'

const empty: Bench = { devices: [], hasTeachpoint: () => false }
const compiled = (topology: unknown, document: unknown) =>
  compileWorkflow(document, compileTopology(topology, empty, 'the example'), 'the example', 'typescript')
const smc = compiled(smcTopology, smcAssay)
const legacy = compiled(legacyTopology, legacyAssay)

/** The places that the labware has to be at, one after the other: of those that are alike, the first. */
function visits(thread: ThreadPlan, workflow: Workflow, { resting = true } = {}): string[] {
  const positionOf = ({ devices }: ActionPlan) => workflow.topology.graph.positionsOf(devices[0]!)[0]!.name
  const atMethod = (name: string) => workflow.methods.get(name)!.actions.map(positionOf)
  const ofSteps = (steps: readonly StepPlan[]): string[] => steps.flatMap(ofStep)
  const ofStep = (step: StepPlan): string[] => {
    if (step.kind === 'method') return step.method.actions.map(positionOf)
    if (step.kind === 'join') return atMethod(step.methods[0]!)
    if (step.kind !== 'while_more_work') return []
    const [join, park] = step.body.steps
    const rest = resting && park?.kind === 'park' ? [park.positions[0]!] : []
    const rounds = join?.kind === 'join' ? join.methods.map(atMethod) : []
    return rounds.flatMap((positions, i) => (i < rounds.length - 1 ? [...positions, ...rest] : positions))
  }
  return [thread.start.position, ...ofSteps(thread.steps), thread.end.positions[0]!]
}

function hops(workflow: Workflow, name: string, options?: { resting: boolean }): number {
  const { graph } = workflow.topology
  const places = visits(workflow.threads.get(name)!, workflow, options)
  return places.slice(1).reduce((sum, place, i) => sum + graph.route(places[i]!, place)!.length, 0)
}

test('the assay needs the moves that were counted by hand: 101 for one plate', async (t) => {
  const counted = { plate_1: 36, sample_plate: 11, neut_plate: 15, final_plate: 10, tips_96: 9, tips_384: 11 }
  t.same(Object.fromEntries([...smc.threads.keys()].map((name) => [name, hops(smc, name)])), counted)
  t.equal(hops(smc, 'tips_384', { resting: false }), 7)
  const racks = 2
  t.equal(Object.values(counted).reduce((sum, count) => sum + count, 0) + (racks - 1) * counted.tips_96, 101)
})

test('the older arrangement needs the moves that were counted there', async (t) => {
  const counted = { plate_1: 28, sample_plate: 11, final_plate: 10, tips_96: 9, tips_384: 7 }
  t.same(Object.fromEntries([...legacy.threads.keys()].map((name) => [name, hops(legacy, name)])), counted)
})

test('both have the places, methods and labware that they are known for', async (t) => {
  t.equal(Object.keys(smcTopology.positions).length, 53)
  t.same([smc.threads.size, smc.methods.size], [6, 19])
  t.same([legacy.threads.size, legacy.methods.size], [5, 15])
  t.notOk(smc.hasCode)
  t.same(JSON.parse(JSON.stringify(smcAssay)), smcAssay, 'it is JSON')
  t.equal(compiledFromJson(smcAssay).hash, smc.hash)
})

test('the shaking and spinning that the plates wait for is 11,790 s', async (t) => {
  const durations = Object.values(smcAssay.methods ?? {}).flat() as { with?: { duration?: number } }[]
  t.equal(
    durations.reduce((sum, action) => sum + (action.with?.duration ?? 0), 0),
    11_790,
  )
  const seconds = (method: string) => {
    const [action] = smc.methods.get(method)!.actions
    if (action?.kind !== 'do') throw new Error(`${method} does nothing`)
    const device = smc.topology.devices.get(action.devices[0]!)!
    return secondsOf(action.action.do, device, { params: action.action.with, said: action.seconds })
  }
  t.same(
    ['target_capture', 'incubate_2hrs', 'post_capture_wash', 'magnetic_pellet', 'centrifuge', 'read', 'delid'].map(seconds),
    [300, 7200, 240, 180, 60, 600, 15],
  )
})

test('each rack of tips is used up', async (t) => {
  for (const workflow of [smc, legacy]) {
    for (const rack of ['tips_96', 'tips_384']) {
      const { tips } = workflow.document.labware[rack]!
      const used = [...workflow.methods.values()]
        .flatMap(({ actions }) => actions)
        .flatMap(({ action }) => ('tips' in action ? (action.tips[rack] ?? []) : []))
      t.equal(used.reduce((sum, count) => sum + count, 0) % tips!, 0, `${workflow.name}: ${rack}`)
    }
  }
})

test('neither can run but in PURE_SIM, and says why', async (t) => {
  t.equal(refusalFor(smc, 'PURE_SIM', empty), undefined)
  isRefused(t, smc)
  isRefused(t, legacy)
})

function isRefused(t: Test, workflow: Workflow): void {
  t.match(refusalFor(workflow, 'LIVE', empty), /the configuration has no device bravo_96; .*translator_1 is a translator/)
}

function compiledFromJson(document: unknown): Workflow {
  return compileWorkflow(JSON.parse(JSON.stringify(document)), smc.topology, 'the example', 'json')
}
