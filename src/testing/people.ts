// For tests: a person who carries, on a bench that does everything else at once, and the tasks that are shown to the person.

import { Person } from '../../drivers/person/person.ts'
import type { PersonSettings } from '../devices/device.ts'
import type { Equipment } from '../workflow/equipment/equipment.ts'
import type { TopologyInput } from '../workflow/plans/topology_schema.ts'
import type { Runtime } from '../workflow/runtime.ts'
import type { CarryTask } from '../workflow/threads/move/carry_task.ts'
import { HandClock } from './hand_clock.ts'
import { instantBench, liveRuntime, until } from './workflow.ts'

const usual: PersonSettings = { confirm: 'once', reminder_s: 120, ask_barcode: false, shared_space: false }

/** Returns a person with the driver's own behaviour. */
export function personWith(settings: Partial<PersonSettings> = {}): Person {
  return new Person({ settings: { ...usual, ...settings }, clock: new HandClock() })
}

export type People = Readonly<Record<string, Person>>

type More = Parameters<typeof liveRuntime>[2] & { equipment?: Partial<Equipment> }

/** A runtime that is LIVE on a bench with these people, keyed by the transporter that each of them is. Reminders ring by `clock.ring()`. */
export function runtimeWithPeople(
  people: People,
  topology: TopologyInput,
  workflows: readonly unknown[],
  { equipment, ...more }: More = {},
) {
  const clock = new HandClock()
  const live = instantBench({ person: (transporter_id) => people[transporter_id]?.person, ...equipment })
  return { ...liveRuntime(topology, workflows, { clock, live, ...more }), clock }
}

export type Shown = ReturnType<Runtime['operator']['steps']>[number] & { move: CarryTask }

/** Lists the tasks to carry labware that wait for an answer, the oldest first. */
export function tasksOf(runtime: Runtime): Shown[] {
  return runtime.operator.steps().flatMap((step) => (step.move === null ? [] : { ...step, move: step.move }))
}

/** Resolves with the task of a labware when it is shown. */
export async function taskFor(runtime: Runtime, labware: string): Promise<Shown> {
  const find = () => tasksOf(runtime).find(({ move }) => move.labware === labware)
  await until(() => find() !== undefined, `the task to carry ${labware}`)
  return find()!
}

/** Lets so many turns of the event loop go by as anything needs that can happen. */
export async function settled(turns = 50): Promise<void> {
  for (let i = 0; i < turns; i++) await new Promise(setImmediate)
}
