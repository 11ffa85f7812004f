// The task of a person to carry labware, as it is shown, and the answers to it.

import type { Hop } from '../../plans/graph.ts'

/** `elsewhere` has the position where the labware stands now; `cannot` leaves it where it stood. */
export type TaskAnswer = {
  answer: 'taken' | 'done' | 'elsewhere' | 'cannot'
  position?: string | undefined
  barcode?: string | undefined
  reason?: string | undefined
}

/** The move of a task. `is_again`: it was shown before the service restarted. */
export type CarryTask = Hop & {
  labware_id: string
  labware: string
  barcode: string | null
  confirm: 'once' | 'twice'
  ask_barcode: boolean
  is_taken: boolean
  is_again: boolean
  /** How long the person usually takes; null if unknown. */
  usual_s: number | null
}

/** A task to show. `answered` throws for an answer that is not taken: then the task stays. `closed` is called once it is off the list. */
export type AskedTask = { instruction: string; task: CarryTask; step_id: string; answered(answer: TaskAnswer): void; closed?(): void }

/** A task on the list of what waits for people. */
export type ShownTask = { update(members: Partial<CarryTask>): void; withdraw(): void }
