// For tests: the bench of `benchd demo --bench incubator`, and the times that plates of a run were in slots.

import type { Test } from 'tap'
import { prepareDemo } from '../examples/demo.ts'
import { incubatorBench, incubatorTeachpoints } from '../examples/incubator.ts'
import { benchOf } from '../workflow/plans/bench.ts'
import type { Execution } from '../workflow/runs/execution.ts'
import { slotOf } from '../workflow/state/slots.ts'
import { openTestBench } from './http.ts'

export async function openIncubatorBench(t: Test) {
  const tested = await openTestBench(t, incubatorBench)
  // A test bench has keys already, so that the demo takes its folder for an old one.
  await tested.bench.teachpoints.importAll(incubatorTeachpoints, { overwrite: false })
  await prepareDemo(tested.bench, 'incubator')
  return { ...tested, setup: benchOf(() => tested.bench.registry.all(), tested.bench.teachpoints) }
}

type Stay = { plate: string; slot: string; from: number; to: number; isFirst: boolean }

/** Returns the times that each plate was in a slot, in seconds since the run began. */
function staysIn({ timeline, threads }: Execution): Stay[] {
  const rows = timeline.rows().filter(({ kind, status }) => kind === 'move' && status === 'COMPLETED')
  return [...threads.values()].flatMap(({ name, thread_id, state }) => {
    const moves = rows.filter((row) => row.thread_id === thread_id && (isSlot(row.from) || isSlot(row.to)))
    const began = { to: state.starts_at, ended: 0 }
    return [began, ...moves.filter(({ to }) => isSlot(to))].map(({ to: slot, ended }, i): Stay => {
      const out = moves.find(({ from, started }) => from === slot && started! >= ended!)
      return { plate: name, slot: slot!, from: ended!, to: out?.started ?? timeline.now(), isFirst: i === 0 }
    })
  })
}

function isSlot(position: string | null): boolean {
  return slotOf(position ?? undefined) !== null
}

/** Checks a run that has ended: each plate has rested twice, and no slot had two plates. Returns the rests. */
export function checkRests(t: Test, execution: Execution, rest_s: number): Stay[] {
  t.equal(execution.phase.current, 'completed')
  const plates = [...execution.threads.values()]
  t.ok(plates.every(({ status }) => status.current === 'COMPLETED'))
  const stays = staysIn(execution)
  const rests = stays.filter(({ from, to, isFirst }) => !isFirst && to - from >= rest_s)
  for (const { name } of plates) t.equal(rests.filter(({ plate }) => plate === name).length, 2, `${name} has rested twice`)
  const meet = (one: Stay, other: Stay) => one.slot === other.slot && one.from < other.to && other.from < one.to
  t.same(
    stays.filter((one) => stays.some((other) => one !== other && meet(one, other))),
    [],
    'no slot has two plates',
  )
  return rests.toSorted((one, other) => one.from - other.from)
}

/** Checks that a plate in the storage blocks nobody. */
export function checkPassing(t: Test, { timeline, threads }: Execution, { plate, from, to }: Stay): void {
  const passing = timeline.rows().filter((row) => row.name === 'seal' && row.ended! > from && row.ended! < to)
  const others = new Set(passing.map(({ thread_name }) => thread_name))
  t.equal(others.size, threads.size - 1, `all others are sealed while ${plate} rests`)
}
