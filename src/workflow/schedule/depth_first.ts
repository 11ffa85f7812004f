// Looks for any schedule, where a beam has lost all its states: depth first, and no configuration is looked at twice.

import type { Weights } from './bound.ts'
import { isLocked } from './expand.ts'
import { Extension, type Progress } from './extend.ts'
import type { Model } from './model.ts'
import { costOf } from './objective.ts'
import { Rows } from './rows.ts'
import { States } from './state.ts'

export function findAny(model: Model, turns: readonly Int32Array[], weights: Weights, progress: Progress): void {
  const depth = 2 * model.firstStop[model.jobs]! + 16
  const states = new States(model, depth + 1, true)
  const extension = new Extension(states, { turns, everything: true }, weights)
  const { rows, hop } = extension
  const log = new Rows()
  const seen = new Set<number>()
  const locked = new Uint8Array(model.jobs)
  const open = (slot: number) => {
    const first = rows.count
    extension.of(slot, progress)
    sortWorstFirst(rows, first)
  }
  states.begin(0)
  open(0)
  while (rows.count > 0 && progress.states < progress.budget) {
    const row = --rows.count
    const parent = rows.parent[row]!
    const slot = parent + 1
    if (slot > depth || seen.has(rows.hash[row]!)) continue
    seen.add(rows.hash[row]!)
    states.copy(parent, slot)
    extension.make(row, slot)
    if (isLocked(states, slot, locked)) continue
    log.count = states.node[parent]! + 1
    states.node[slot] = log.add(0, rows.earliest[row]!, states.node[parent]!, hop, 0)
    if (states.left[slot] === 0) {
      progress.cost = costOf(states, slot)
      progress.steps = log.stepsTo(states.node[slot]!)
      return
    }
    open(slot)
  }
}

/** Sorts the rows from `first` on: moves to a buffer below all others, so that they are tried last. */
function sortWorstFirst(rows: Rows, first: number): void {
  const all = Array.from({ length: rows.count - first }, (_, index) => rows.read(first + index))
  all.sort((a, b) => Number(a.option >= 0) - Number(b.option >= 0) || b.score - a.score)
  all.forEach((row, index) => {
    rows.write(first + index, row)
  })
}
