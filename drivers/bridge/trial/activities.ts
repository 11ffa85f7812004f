// The activities of a program that are halted and interrupted by the checklist: initialize, its operations, and the moves of a transporter.

import { ownOperations } from '../../../src/devices/description.ts'
import { LabError } from '../../../src/errors.ts'
import { didYouMeanOrAmong } from '../../../src/kit/did_you_mean.ts'
import { initialize_s, type TriedProgram } from './program.ts'
import { NotTried } from './report.ts'
import { type GivenValue, valuesFor } from './values.ts'

export type Activity = {
  name: string
  /** The method of its question. */
  method: string
  /** Seconds that it takes as described, and after which a bench gives it up. */
  usual_s: number
  limit_s: number
  can_end_early: boolean
  /** Seconds that it took. */
  took_s?: number
  prepare(): Promise<unknown>
  begin(): Promise<unknown>
}

/** A position by its name; `pose` are x, y, z, yaw, pitch and roll for an arm that goes to teachpoints. */
export type Position = { name: string; pose: readonly number[] | undefined }

export function initializing(program: TriedProgram): Activity {
  const begin = () => program.initialize()
  return {
    name: 'initialize',
    method: 'initialize',
    usual_s: initialize_s,
    limit_s: initialize_s,
    can_end_early: false,
    prepare: async () => undefined,
    begin,
  }
}

/** Values of parameters by `OPERATION.PARAMETER`, the operations that are left out, and the only ones that are not; all, if none is named. */
export type Choice = { values: Readonly<Record<string, GivenValue>>; skip: readonly string[]; only: readonly string[] }

/**
 * Returns the operations of its description, and by the name of each that is not tried the reason. Throws `invalid` if the choice names what the program does
 * not have.
 */
export function operationsOf(program: TriedProgram, { values, skip, only }: Choice) {
  const { description } = program
  const own = ownOperations(description)
  const known = [...own.keys()]
  for (const name of [...skip, ...only, ...Object.keys(values).map((place) => place.split('.')[0]!)])
    if (!own.has(name)) throw new LabError('invalid', `the program has no operation ${name}${didYouMeanOrAmong(name, known)}`)
  const activities: Activity[] = []
  const untried = new Map<string, string>()
  const prepared = async (name: string) => {
    for (const first of before[name] ?? []) await activities.find((one) => one.name === first)?.begin()
  }
  for (const [name, operation] of own) {
    const given = Object.entries(values).filter(([place]) => place.startsWith(`${name}.`))
    const its = Object.fromEntries(given.map(([place, value]) => [place.slice(name.length + 1), value]))
    try {
      if (skip.includes(name)) throw new NotTried('left out by --skip')
      if (only.length > 0 && !only.includes(name)) throw new NotTried('left out by --only')
      const params = valuesFor(name, description.operations[name]!, operation, its)
      const { can_end_early } = operation
      const usual_s = operation.seconds(params)
      const limit_s = usual_s + operation.margin_s
      const begin = () => program.perform(name, params, limit_s)
      activities.push({ name, method: 'perform', usual_s, limit_s, can_end_early, prepare: () => prepared(name), begin })
    } catch (error) {
      if (!(error instanceof NotTried)) throw error
      untried.set(name, error.message)
    }
  }
  return { activities, untried }
}

/** Operations that prepare the instrument for another one, where it has them. */
const before: Readonly<Record<string, readonly string[]>> = { shake: ['close', 'lock_plate'], centrifuge: ['close'], seal: ['close'] }

const labware = { name: 'made_up', type: 'plate', barcode: null }

/** Returns the moves of a transporter from a position and to it. */
export function movesOf(program: TriedProgram, { name: position, pose }: Position): Activity[] {
  const limit_s = program.settings.move_timeout_s
  const [x = 0, y = 0, z = 0, yaw = 0, pitch = 0, roll = 0] = pose ?? []
  const way = pose ? { at: position, pose: { coord_type: 'cartesian' as const, x, y, z, yaw, pitch, roll } } : null
  const move = (verb: 'pick' | 'place') => program.device[verb]!({ position, labware, way }, new AbortController().signal)
  /** Brings the gripper to what the move needs, by the other move. */
  const prepared = async (verb: 'pick' | 'place') => {
    const gripper = await program.device.gripper!()
    if (verb === 'pick' ? gripper === 'full' : gripper !== 'full') await move(verb === 'pick' ? 'place' : 'pick')
  }
  return (['pick', 'place'] as const).map((verb) => {
    const prepare = () => prepared(verb)
    // The service watches the time of a move by itself.
    return { name: verb, method: verb, usual_s: limit_s, limit_s: limit_s + 10, can_end_early: false, prepare, begin: () => move(verb) }
  })
}
