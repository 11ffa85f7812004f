// A person who carries labware. The person has no wire: runs show tasks, and a stop withdraws the tasks that are open.

import * as v from 'valibot'
import type { AnyProfile, Device, Learned, Link, PersonSettings, Person as PersonTasks, Typical } from '../../src/devices/device.ts'
import { LabError } from '../../src/errors.ts'
import { type Clock, sleep } from '../../src/kit/clock.ts'
import { described } from '../../src/kit/described.ts'

export const settings = v.strictObject({
  confirm: v.optional(
    described(v.picklist(['once', 'twice']), '`once`: one answer when the labware stands at its target; `twice`: also when it is taken'),
    'once',
  ),
  reminder_s: v.optional(
    described(v.pipe(v.number(), v.minValue(1), v.maxValue(86_400)), 'Time without an answer after which the bench reminds', 's'),
    120,
  ),
  ask_barcode: v.optional(described(v.boolean(), 'Whether each answer must have the barcode of the labware'), false),
  shared_space: v.optional(
    described(v.boolean(), 'Whether arms may move within reach of an open task; only where nobody can be hurt'),
    false,
  ),
}) satisfies v.GenericSchema<unknown, PersonSettings>

/** The time that a simulated person takes for a pick, and for a place. */
const usual_s = 10
export const typical: Typical = { initialize_s: 0 }
export const profile: AnyProfile = { model: 'person', limits: {}, features: {} }

export class Person implements Device {
  readonly points = 'own'
  readonly #clock: Clock
  /** Withdraws each task that is open. */
  readonly #open = new Set<(error: LabError) => void>()
  readonly person: PersonTasks

  /** `clock` is the time of a simulated person. */
  constructor({ settings, clock }: { settings: PersonSettings; clock: Clock }) {
    this.#clock = clock
    this.person = {
      settings,
      undertake: (withdraw) => {
        this.#open.add(withdraw)
        return () => void this.#open.delete(withdraw)
      },
    }
  }

  readonly initialize = async (): Promise<Learned> => ({ identity: null })
  readonly identify = async (): Promise<null> => null
  readonly check = async (): Promise<void> => {}
  /** Carries in a rehearsal, where nobody is asked. */
  readonly pick = (_target: unknown, signal: AbortSignal): Promise<void> => sleep(this.#clock, usual_s * 1000, signal)
  readonly place = this.pick

  async halt(): Promise<void> {
    for (const withdraw of [...this.#open])
      withdraw(new LabError('stopped', 'it was stopped, and the task is withdrawn; a person may still hold the labware'))
  }
}

/** The link to a person, which is always open. */
export function personLink(): Link {
  return { state: 'open', open: async () => {}, close: async () => {}, onLost: () => {} }
}
