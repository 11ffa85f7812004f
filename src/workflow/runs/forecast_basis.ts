// The assumptions of a forecast of a run, for its readers.

import * as v from 'valibot'
import { described } from '../../kit/described.ts'
import type { ActionPlan, StepPlan } from '../plans/plan.ts'
import type { Expected } from '../threads/action/seconds.ts'
import type { Why } from '../threads/branches_ahead.ts'
import type { Assumptions } from '../threads/work_ahead.ts'

const Count = v.number()

export const ForecastBasis = v.strictObject({
  by: described(
    v.picklist(['sum', 'plan', 'dispatch']),
    'sum: of the steps of one labware; plan: a simulation in the order of the plan of the bench; dispatch: a simulation by the rule',
  ),
  learned: described(Count, 'The durations that the bench has learned, so many actions at devices'),
  declared: described(Count, 'Actions with a time in the workflow or the topology'),
  usual: described(Count, 'Actions with the time that is usual for the operation'),
  assumed: described(v.array(v.string()), 'A sentence for each assumption: the sides of conditions, the durations of code and of people'),
})
export type ForecastBasis = v.InferOutput<typeof ForecastBasis>

/** The most sentences. */
const mostAssumed = 20

const becauseOf: Readonly<Record<Why, string>> = { value: '', most_often: 'as most often before', declared: 'as declared' }

export class Basis implements Assumptions {
  readonly #durations = new Map<string, Expected['from']>()
  readonly #assumed = new Map<string, string>()

  lasts(action: ActionPlan, device: string | null, { seconds, from }: Expected): void {
    this.#durations.set(`${device} ${action.path}`, from)
    if (action.kind === 'code')
      this.#assume(
        action.path,
        `the code of ${action.name} is not executed: ${from === 'unknown' ? 'it counts as 0 s, because its duration is unknown' : `it counts as ${round(seconds)} s (${from})`}`,
      )
    if (action.kind === 'instruct')
      this.#assume(
        action.path,
        `the answer of a person to ${action.name} counts as ${round(seconds)} s${from === 'unknown' ? '' : ` (${from})`}`,
      )
  }

  goes({ name }: StepPlan, way: string, why: Why): void {
    if (why !== 'value') this.#assume(name, `${name} goes ${JSON.stringify(way)}, ${becauseOf[why]}`)
  }

  emitted(event: string): void {
    this.#assume(event, `the event ${event} counts as emitted when it is waited for, because the code of the workflow may emit it`)
  }

  #assume(key: string, sentence: string): void {
    if (this.#assumed.size < mostAssumed) this.#assumed.set(key, sentence)
  }

  toJSON(by: ForecastBasis['by'], more: readonly string[] = []): ForecastBasis {
    const count = (wanted: Expected['from']) => [...this.#durations.values()].filter((from) => from === wanted).length
    return {
      by,
      learned: count('learned'),
      declared: count('declared'),
      usual: count('usual'),
      assumed: [...more, ...this.#assumed.values()],
    }
  }
}

const round = (seconds: number): number => Math.round(seconds * 10) / 10
