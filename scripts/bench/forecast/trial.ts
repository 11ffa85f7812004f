// A run on virtual time whose durations vary, with forecasts of its end while it lasts.

import { handsTopology, shakeAndSeal } from '../../../src/examples/hands.ts'
import { incubatorTopology, shortRests, twoDayAssay } from '../../../src/examples/incubator.ts'
import { demoTopology, sealAndSpin } from '../../../src/examples/seal_and_spin.ts'
import { smcAssay, smcTopology } from '../../../src/examples/smc_assay.ts'
import { seeded } from '../../../src/testing/seeded.ts'
import { begin, testRuntime } from '../../../src/testing/workflow.ts'
import { PureEquipment } from '../../../src/workflow/equipment/pure_equipment.ts'
import { Hops, movesOf } from '../../../src/workflow/plans/timing.ts'
import type { TopologyInput } from '../../../src/workflow/plans/topology_schema.ts'
import { forecastProblem } from '../../../src/workflow/runs/forecast_problem.ts'
import type { RuntimeOptions } from '../../../src/workflow/runtime_options.ts'
import { foretell } from '../../../src/workflow/schedule/foretell.ts'
import { findBeside } from '../../../src/workflow/search_worker.ts'

/** The instruments of the small benches, which the configuration has elsewhere. */
const instruments = {
  'shaker-1': { operations: { shake: {} } },
  'sealer-1': { operations: { seal: {} } },
  'peeler-1': { operations: { peel: {} } },
  'centrifuge-1': { operations: { centrifuge: {} } },
  'scan-1': { operations: { scan: {} } },
}

function withInstruments<Made extends TopologyInput>(topology: Made) {
  const used = new Set(Object.values(topology.positions).flatMap(({ device, scanner }) => [device ?? [], scanner ?? []].flat()))
  return { ...topology, devices: Object.fromEntries(Object.entries(instruments).filter(([name]) => used.has(name))) }
}

/** The workflows that ship. */
export const shipped = [
  { topology: withInstruments(demoTopology), workflow: sealAndSpin },
  { topology: smcTopology, workflow: smcAssay },
  { topology: withInstruments(handsTopology), workflow: shakeAndSeal },
  { topology: withInstruments(incubatorTopology), workflow: twoDayAssay },
  { topology: withInstruments(incubatorTopology), workflow: shortRests },
]

/** Less than the margin of each operation. */
const spared_s = 15

export type Shipped = (typeof shipped)[number]

/** A forecast that was made `at_s` after the start. `posed_ms`: the time on the event loop; `foretold_ms`: in the thread. */
export type Made = { at_s: number; end_s: number | null; posed_ms: number; foretold_ms: number }

/** Runs a workflow with so many groups, and makes a forecast after each of `at_s` seconds. Durations vary by the share `varies`. */
export async function trial(
  { topology, workflow }: Shipped,
  { groups, seed, varies, at_s }: { groups: number; seed: number; varies: number; at_s: readonly number[] },
) {
  const random = seeded(seed)
  const factor = () => 1 - varies + 2 * varies * random()
  const simulate: RuntimeOptions['simulate'] = ({ document }, clock) => {
    const moves = movesOf(document)
    const transporters = Object.fromEntries(
      Object.entries(moves).map(([name, { seconds }]) => {
        const vary = () => {
          const by = factor()
          return { pick: seconds.pick * by, move: seconds.move * by, place: seconds.place * by }
        }
        return [name, { seconds, between: vary }]
      }),
    )
    const equipment = new PureEquipment({ clock, transporters })
    const perform = equipment.perform.bind(equipment)
    equipment.perform = (device, operation, params, { seconds = 0, ...how }) => {
      // A call that lasts longer than asked for by more than its margin holds the thread.
      const most = 'duration' in params ? seconds + spared_s : Number.POSITIVE_INFINITY
      return perform(device, operation, params, { ...how, seconds: Math.min(seconds * factor(), most) })
    }
    return equipment
  }
  const { runtime, incidents } = testRuntime([topology, workflow], { simulate, search: findBeside })
  const list = Array.from({ length: groups }, (_, i) => ({ group_id: `g${i + 1}`, members: {} }))
  const execution = await begin(runtime, { workflow: workflow.name, groups: list })
  const { clock, steps, scheduler, equipment } = execution.environment
  const hops = new Hops(execution.workflow.topology.document)
  const made: Made[] = []
  for (const at of at_s) {
    clock.after(at * 1000, () => {
      const release = steps.hold()
      let posed_ms = 0
      let since = performance.now()
      const turn = async () => {
        posed_ms += performance.now() - since
        await new Promise(setImmediate)
        since = performance.now()
      }
      const now = clock.now()
      void forecastProblem([execution], { scheduler, hops, equipment, now: () => now }, turn).then(({ problem, shares }) => {
        posed_ms += performance.now() - since
        const began = performance.now()
        const { runs } = foretell(problem)
        const { end_s } = runs[0]!
        made.push({ at_s: at, end_s: end_s === null ? null : at + end_s * shares[0]!, posed_ms, foretold_ms: performance.now() - began })
        release()
      })
    })
  }
  await runtime.over(execution)
  return { took_s: clock.now() / 1000, made, phase: execution.phase.current, incidents }
}
