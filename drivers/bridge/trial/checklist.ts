// The checklist for the program of a bridge: the conformance suite of the drivers in small, in real time and with one program.

import { inSentence } from '../../../src/kit/did_you_mean.ts'
import { unaccepted } from '../as_described.ts'
import type { Settings } from '../bridge.ts'
import { type Activity, type Choice, initializing, movesOf, operationsOf, type Position } from './activities.ts'
import { answers, does, reads, ready, refuses } from './checks.ts'
import { interrupts } from './interruptions.ts'
import { answer_s, TriedProgram } from './program.ts'
import { advice, Note, Report, type Result, seconds } from './report.ts'
import { unlimited } from './values.ts'

export type { Position } from './activities.ts'
export type { Result } from './report.ts'

export type Trial = Choice & {
  command: readonly string[]
  settings: Settings
  /** For a transporter: the position from which it picks and where it places. */
  position: Position | undefined
  /** Called before anything moves, with what will be done. Rejects if nobody wants that. */
  confirm(deed: string): Promise<void>
  show(result: Result): void
  /** Aborted by a person: the instrument is halted, and the promise rejects with its reason. */
  signal: AbortSignal
}

/** Tries the program, and returns the results in their order. */
export async function tryBridge(trial: Trial): Promise<Result[]> {
  const program = new TriedProgram(trial)
  const report = new Report(program, trial.signal, trial.show)
  try {
    await tryProgram({ program, report, trial })
  } finally {
    await leave(program, report)
  }
  return report.results
}

/** Halts an instrument that may be on, and ends the program. */
async function leave(program: TriedProgram, report: Report): Promise<void> {
  program.isLeaving = true
  const halted = async () => {
    if (!program.isOpen || program.isSuspect) {
      await program.start()
      await program.identify()
    }
    return `halted after ${seconds(await program.halt())}`
  }
  try {
    if (!program.isTouched || !program.canHalt) return
    await report.tried('halt at the end', halted, 'the instrument may still move or heat; see to it, and use its red button')
  } finally {
    await program.end()
  }
}

type Tried = { program: TriedProgram; report: Report; trial: Trial }

async function tryProgram(tried: Tried): Promise<void> {
  const { program, report, trial } = tried
  if (!(await describes(tried))) return report.notTried('everything else', 'the program has not described itself')
  const { activities, untried } = operationsOf(program, trial)
  const { description } = program
  const starts = async () => {
    await program.start()
    await program.identify()
    return 'describes itself as before'
  }
  if (!(await report.tried('start again', starts, advice.describe))) return report.notTried('everything else', 'the program does not start')
  await report.tried('check before initialize', () => answers(program), advice.check_first)
  // Nothing waits while a person thinks, and nothing has to be ended if the answer is no.
  await program.end()
  await trial.confirm(deedOf(tried, activities))
  const initialize = initializing(program)
  const initializes = async () => {
    await program.start()
    await program.identify()
    return does(program, initialize)
  }
  if (!(await report.tried('initialize', initializes, advice.initialize)))
    return report.notTried('everything else', 'initialize has failed')
  await report.tried('check', () => answers(program), advice.check)
  for (const name of Object.keys(description.readings)) await report.tried(`reading ${name}`, () => reads(program, name), advice.reading)
  const moves = await movesOfTransporter(tried)
  const all = [...activities, ...moves]
  const done = [initialize]
  for (const activity of all) {
    const isDone = await report.tried(activity.name, () => does(program, activity), advice.operation)
    if (isDone && activity.took_s !== undefined) done.push(activity)
  }
  for (const [name, why] of untried) report.notTried(name, why)
  await refuses(program, report, activities[0])
  await interrupts(program, report, done)
  if (moves.length > 0) await report.tried('gripper', () => isEmpty(program), advice.where)
  await report.tried('standard output', async () => longestOf(program), advice.output)
  report.notTried('pulled cable', advice.cable)
  for (const member of ['jog', 'free_drive', 'go_to'] as const)
    if (description[member]) report.notTried(member, 'a person leads it: try it on a bench')
}

/** Tries the description, which the other checks need. */
async function describes({ program, report }: Tried): Promise<boolean> {
  const isDescribed = await report.tried(
    'describe',
    async () => {
      const took_s = await program.describe()
      const { type, model, operations, readings } = program.description
      const parts = [...Object.keys(operations), ...Object.keys(readings).map((name) => `reading ${name}`)]
      return `${type} ${JSON.stringify(model)} in ${seconds(took_s)}: ${inSentence(parts) || 'no operations'}`
    },
    advice.describe,
  )
  if (!isDescribed) return false
  const { proposed_halt } = program.description
  if (proposed_halt && program.settings.halt === 'message')
    await report.tried('proposed halt', () => Promise.reject(new Note(unaccepted(proposed_halt))), advice.halt)
  await report.tried(
    'limits',
    async () => {
      const open = unlimited(program.description)
      if (open.length === 0) return 'each number has a minimum and a maximum'
      throw new Note(
        `without minimum or maximum: ${inSentence(open)}; give both (minimum and maximum of @operation, or --limit of a class of PyLabRobot), so that the bench refuses wrong values by itself`,
      )
    },
    advice.describe,
  )
  return true
}

function deedOf({ program, trial }: Tried, activities: readonly Activity[]): string {
  const { type, model } = program.description
  const names = ['initialize', ...activities.map(({ name }) => name), ...(trial.position ? ['pick', 'place'] : [])]
  const total_s = activities.reduce((sum, { usual_s }) => sum + 2 * usual_s, 0)
  const time = total_s > 60 ? ` for up to ${Math.ceil(total_s / 60)} minutes` : ''
  return `move the ${type} ${JSON.stringify(model)}${time}: do, halt and interrupt ${inSentence(names)}`
}

/** Tells what the gripper holds at the end: a killed move may have left labware in it, with which no run picks anything. */
async function isEmpty(program: TriedProgram): Promise<string> {
  const gripper = await program.within(program.device.gripper!(), answer_s, 'it has not answered where')
  if (gripper === 'empty') return 'it is empty at the end'
  throw new Note(`it is ${gripper ?? 'unknown'} at the end; take the labware out, or no run can pick`)
}

/** Tries the moves of a transporter, where a position is given. */
async function movesOfTransporter({ program, report, trial }: Tried): Promise<Activity[]> {
  const { type, points } = program.description
  if (type !== 'transporter') return []
  const where = async () => {
    await ready(program)
    const gripper = await program.within(program.device.gripper!(), answer_s, 'it has not answered where')
    return `it stands, and its gripper is ${gripper ?? 'unknown'}`
  }
  await report.tried('where', where, advice.where)
  const wanted = points === 'own' ? '--position NAME' : '--position NAME=X,Y,Z,YAW,PITCH,ROLL'
  const isRight = trial.position && (points === 'own') === (trial.position.pose === undefined)
  if (isRight) return movesOf(program, trial.position!)
  report.notTried('pick and place', `name a position with labware from which it may pick: ${wanted}`)
  return []
}

function longestOf(program: TriedProgram): string {
  const kib = Math.ceil(Math.max(program.longest, program.isOpen ? program.wire.longest : 0) / 1024)
  return `nothing but messages; the longest line has ${kib} KiB`
}
