// The checklist for the program of a bridge: the conformance suite of the drivers in small, in real time and with one program.

import { isRefusal } from '../../../src/devices/failure.ts'
import { LabError } from '../../../src/errors.ts'
import { sleep, systemClock } from '../../../src/kit/clock.ts'
import type { Settings } from '../bridge.ts'
import { type Activity, initializing, movesOf, operationsOf, type Position } from './activities.ts'
import { TriedProgram } from './program.ts'
import { Note, NotTried, Report, type Result } from './report.ts'
import { unlimited } from './values.ts'

export type { Position } from './activities.ts'
export type { Result } from './report.ts'

export type Trial = {
  command: readonly string[]
  settings: Settings
  /** Values of parameters, by `OPERATION.PARAMETER`. */
  values: Readonly<Record<string, string>>
  /** Operations that are left out. */
  skip: readonly string[]
  /** For a transporter: the position from which it picks and where it places. */
  position: Position | undefined
  /** Called before anything moves, with what will be done. Rejects if nobody wants that. */
  confirm(deed: string): Promise<void>
  show(result: Result): void
  /** Aborted by a person: the instrument is halted, and the promise rejects with its reason. */
  signal: AbortSignal
}

/** An activity that is over sooner is not halted meanwhile, but afterwards, s. */
const shortest_s = 0.02
/** The longest wait before an activity is halted or its program killed, s. */
const into_s = 1
/** A halted activity ends within this time, after which the library refuses `initialize`, s. */
const unwind_s = 2
/** The limit for answers that move nothing, s. */
const answer_s = 6
/** A bench answers a stop that takes longer as not confirmed yet, s. */
const prompt_s = 0.4

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
  const { activities, untried } = operationsOf(program, trial.values, trial.skip)
  const { description } = program
  const starts = async () => {
    await program.start()
    await program.identify()
    return 'describes itself as before'
  }
  if (!(await report.tried('start again', starts, advice.describe))) return report.notTried('everything else', 'the program does not start')
  await report.tried('check before initialize', () => answers(program), advice.check_first)
  await trial.confirm(deedOf(tried, activities))
  const initialize = initializing(program)
  if (!(await report.tried('initialize', () => does(program, initialize), advice.initialize)))
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
  await refuses(tried, activities[0])
  await halts(tried, done)
  await report.tried('killed while idle', () => restarts(program), advice.restart)
  for (const activity of done) await report.tried(`killed ${moment(activity)}`, () => restarts(program, activity), advice.restart)
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
      return `${type} ${JSON.stringify(model)} in ${seconds(took_s)}: ${parts.join(', ') || 'no operations'}`
    },
    advice.describe,
  )
  if (!isDescribed) return false
  await report.tried(
    'limits',
    async () => {
      const open = unlimited(program.description)
      if (open.length === 0) return 'each number has a minimum and a maximum'
      throw new Note(`without minimum or maximum: ${open.join(', ')}; give both, so that the bench refuses wrong values by itself`)
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
  return `move the ${type} ${JSON.stringify(model)}${time}: do, halt and interrupt ${names.join(', ')}`
}

async function answers(program: TriedProgram): Promise<string> {
  return `answered in ${seconds(await program.timed(() => program.check()))}`
}

async function reads(program: TriedProgram, name: string): Promise<string> {
  await ready(program)
  const { value, target } = await program.read(name)
  const unit = program.description.readings[name]!.unit
  return `${value} ${unit}${target === null ? '' : `, target ${target} ${unit}`}`.replaceAll(' ,', ',').trim()
}

/** Does an activity to its end, and notes how long it took. */
async function does(program: TriedProgram, activity: Activity): Promise<string> {
  const { name, usual_s, limit_s } = activity
  if (name !== 'initialize') await ready(program)
  await activity.prepare()
  const took_s = await program.timed(async () => {
    try {
      const late = `${name} did not end within ${limit_s} s, which are its described seconds and its margin`
      await program.within(activity.begin(), limit_s, late)
    } catch (error) {
      if (isRefusal(error) && name !== 'initialize') throw new NotTried(`refused: ${program.sentenceOf(error)}`)
      throw error
    }
  })
  await program.files()
  activity.took_s = took_s
  if (took_s > usual_s + 0.5) throw new Note(`took ${seconds(took_s)}, and describes ${seconds(usual_s)}; describe the true seconds`)
  return `done in ${seconds(took_s)}`
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

/** Tries questions that the program has not described. */
async function refuses({ program, report }: Tried, activity: Activity | undefined): Promise<void> {
  const asked = async (operation: string, params: Record<string, unknown>, limit_s: number) => {
    await ready(program)
    return program.within(program.perform(operation, params, limit_s), limit_s, `it has not answered ${operation}`).then(
      () => undefined,
      (error: unknown) => {
        if (!program.isOpen) throw error
        return error
      },
    )
  }
  const unknown = async () => {
    // Almost the longest question that there is.
    const error = await asked('no_such_operation', { text: 'x'.repeat(60_000) }, answer_s)
    await program.check()
    if (isRefusal(error)) return `refused: ${program.sentenceOf(error)}`
    throw new LabError('device_failed', error ? 'it is answered as a fault of the instrument' : 'it is answered as done')
  }
  await report.tried('unknown operation', unknown, advice.unknown)
  if (!activity) return
  const wrong = async () => {
    const error = await asked(activity.name, { not_described: 'x' }, activity.limit_s)
    await program.check()
    if (!error) throw new Note(`${activity.name} ignores a parameter that it does not have`)
    return `answered as an error, and goes on: ${program.sentenceOf(error)}`
  }
  await report.tried('wrong parameter', wrong, advice.raises)
}

async function halts({ program, report }: Tried, activities: readonly Activity[]): Promise<void> {
  if (!program.canHalt) return report.notTried('halt', 'the program, or its settings, say that nothing ends what the instrument does')
  const again = async (halt: () => Promise<number>) => {
    await ready(program)
    return stopped(program, await halt())
  }
  await report.tried('halt while idle', () => again(() => program.halt()), advice.halt)
  if (program.settings.halt === 'message')
    await report.tried(
      'two halts at once',
      () => again(async () => Math.max(...(await Promise.all([program.halt(), program.halt()])))),
      advice.halt,
    )
  for (const activity of activities) await report.tried(`halt ${moment(activity)}`, () => haltsDuring(program, activity), advice.halt)
}

/** Halts it in an activity: the activity ends, and the instrument can be initialized. */
async function haltsDuring(program: TriedProgram, activity: Activity): Promise<string> {
  await begun(program, activity)
  const took_s = await program.halt()
  if (program.isOpen) {
    const sentence = `${activity.name} goes on ${seconds(unwind_s)} after halt was answered`
    await program.within(program.wire.answered(activity.method), unwind_s, sentence)
  }
  return stopped(program, took_s)
}

/** Initializes it after a halt. */
async function stopped(program: TriedProgram, took_s: number): Promise<string> {
  await program.startIfKilled()
  await program.initialize().catch((error: unknown) => {
    throw new LabError('device_failed', `initialize after the halt fails: ${program.sentenceOf(error)}`)
  })
  await program.check()
  if (took_s > prompt_s) throw new Note(`halted after ${seconds(took_s)}; until then the bench says that the stop is not confirmed`)
  return `halted after ${seconds(took_s)}, and initialized again`
}

/** Kills it, and starts it anew as a bench does: the first message is a halt. */
async function restarts(program: TriedProgram, activity?: Activity): Promise<string> {
  if (activity) await begun(program, activity)
  else await ready(program)
  await program.kill()
  await program.start()
  const after = (what: string) => (error: unknown) => {
    throw new LabError('device_failed', `the new program: ${what} fails: ${program.sentenceOf(error)}`)
  }
  const halted_s = program.canHalt && program.settings.halt === 'message' ? await program.halt().catch(after('halt')) : undefined
  await program.identify().catch(after('describe'))
  await program.initialize().catch(after('initialize'))
  await program.check()
  return `the new program ${halted_s === undefined ? '' : `halts after ${seconds(halted_s)} and `}is initialized`
}

/** Begins an activity, and waits until it is under way; one that is over at once may have left something on. */
async function begun(program: TriedProgram, activity: Activity): Promise<void> {
  await ready(program)
  await activity.prepare()
  activity.begin().catch(() => undefined)
  const into = Math.min(into_s, (activity.took_s ?? 0) / 2)
  await program.within(sleep(systemClock, into * 1000), into_s + 1, 'the computer is too busy')
}

/** Says when an activity is interrupted. */
function moment({ name, took_s = 0 }: Activity): string {
  return `${took_s < shortest_s ? 'after' : 'during'} ${name}`
}

/** Makes the program ready for operations. A program that was started anew and failed is not tried again. */
async function ready(program: TriedProgram): Promise<void> {
  if (program.lastStart) throw new NotTried(program.lastStart)
  await program.ready().catch((error: unknown) => {
    program.lastStart = `it cannot be initialized any more: ${program.sentenceOf(error)}`
    throw new NotTried(program.lastStart)
  })
}

function longestOf(program: TriedProgram): string {
  const kib = Math.ceil(Math.max(program.longest, program.isOpen ? program.wire.longest : 0) / 1024)
  return `nothing but messages; the longest line has ${kib} KiB, and may have 1024`
}

function seconds(s: number): string {
  if (s < 0.1) return `${Math.ceil(s * 1000)} ms`
  return s < 10 ? `${s.toFixed(2)} s` : `${Math.round(s)} s`
}

/** Advice for the writer of the program, by the check that failed. */
const advice = {
  describe: 'answer describe with the same description each time, before the instrument is asked anything',
  check_first: 'the bench asks check from the start: let it return until initialize has opened the port',
  check: 'let check ask the instrument one question, and answer within 5 s',
  initialize: 'let initialize open the port and find home, also when it was open before',
  operation: 'see the method of that name, and what it describes',
  reading: 'return a finite number, or a pair of it and its target, within 5 s',
  unknown: 'raise Invalid, or answer with the reason "invalid"',
  raises: 'answer every exception as an error, and read on',
  halt: 'let halt return within halt_s beside the operation, and end what the operation waits for; initialize must work after that',
  restart: 'let halt open the port by itself: a new program gets halt before anything else',
  where: 'answer where with state and gripper',
  cable: 'pull it while nothing runs and during an operation: check has to notice, and halt and initialize have to work when it is back',
  output: 'write messages alone to standard output, and everything else to standard error',
}
