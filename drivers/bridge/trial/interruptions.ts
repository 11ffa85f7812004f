// Checks that interrupt the program: halts, early ends and kills, and questions beside what runs.

import { LabError } from '../../../src/errors.ts'
import { sleep, systemClock } from '../../../src/kit/clock.ts'
import type { Activity } from './activities.ts'
import { ready } from './checks.ts'
import { answer_s, type TriedProgram } from './program.ts'
import { advice, Note, type Report, seconds } from './report.ts'

/** An activity that is over sooner is not halted meanwhile, but afterwards, s. */
const shortest_s = 0.02
/** The longest wait before an activity is halted or its program killed, s. */
const into_s = 1
/** A halted activity ends within this time, after which the library refuses `initialize`, s. */
const unwind_s = 2
/** A bench answers a stop that takes longer as not confirmed yet, s. */
const prompt_s = 0.4

/** Interrupts the program in each activity, and while it is idle. */
export async function interrupts(program: TriedProgram, report: Report, activities: readonly Activity[]): Promise<void> {
  const long = activities.filter(isLong)
  // The program is asked during an operation or a move; `initialize` may be what makes it ready for questions.
  const work = long.filter(({ method }) => method !== 'initialize')
  const hasQuestions = Object.keys(program.description.readings).length > 0 || program.device.gripper !== undefined
  for (const activity of hasQuestions ? work : [])
    await report.tried(`questions during ${activity.name}`, () => asks(program, activity), advice.beside)
  for (const activity of work)
    if (activity.can_end_early) await report.tried(`early end of ${activity.name}`, () => endsEarly(program, activity), advice.end)
  if (program.canHalt) await halts(program, report, activities)
  else report.notTried('halt', 'the program, or its settings, say that nothing ends what the instrument does')
  await report.tried('killed while idle', () => restarts(program), advice.restart)
  for (const activity of activities) await report.tried(`killed ${moment(activity)}`, () => restarts(program, activity), advice.restart)
}

/** Asks for the readings, and a transporter for its place, while an activity is under way. */
async function asks(program: TriedProgram, activity: Activity): Promise<string> {
  const names = Object.keys(program.description.readings)
  const { gripper } = program.device
  const [end] = await begun(program, activity)
  const took_s = await program.timed(async () => {
    for (const name of names) await program.read(name)
    // While it moves, the answer is refused by the bench itself.
    if (gripper) await program.within(gripper().catch(unlessLost(program)), answer_s, 'it has not answered where')
  })
  await program.within(end!, activity.limit_s, `${activity.name} does not end`)
  return `answered in ${seconds(took_s)}`
}

async function endsEarly(program: TriedProgram, activity: Activity): Promise<string> {
  const [end] = await begun(program, activity)
  const { seconds_left } = await program.within(program.device.end(), answer_s, 'it has not answered end')
  const took_s = await program.timed(() =>
    program.within(end!, Math.max(unwind_s, seconds_left), `${activity.name} goes on after end was answered`),
  )
  return `ended ${seconds(took_s)} later`
}

async function halts(program: TriedProgram, report: Report, activities: readonly Activity[]): Promise<void> {
  const again = async (halt: () => Promise<number>) => {
    await ready(program)
    return stopped(program, await halt())
  }
  const twice = async () => Math.max(...(await Promise.all([program.halt(), program.halt()])))
  await report.tried('halt while idle', () => again(() => program.halt()), advice.halt)
  // The end of the program, which is a halt too, cannot come twice.
  if (program.settings.halt === 'message') await report.tried('two halts at once', () => again(twice), advice.halt)
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

/**
 * Begins an activity, and waits until it is under way; one that is over at once may have left something on. Returns a promise of its end, which rejects as the
 * activity does.
 */
async function begun(program: TriedProgram, activity: Activity): Promise<Promise<unknown>[]> {
  await ready(program)
  await program.within(activity.prepare(), activity.limit_s, `the program cannot be prepared for ${activity.name}`)
  const end = activity.begin()
  end.catch(() => undefined)
  const into = Math.min(into_s, (activity.took_s ?? 0) / 2)
  await program.within(sleep(systemClock, into * 1000), into_s + 1, 'the computer is too busy')
  // In an array, since an async function would wait for a promise.
  return [end]
}

function isLong({ took_s = 0 }: Activity): boolean {
  return took_s >= shortest_s
}

/** Says when an activity is interrupted. */
function moment(activity: Activity): string {
  return `${isLong(activity) ? 'during' : 'after'} ${activity.name}`
}

function unlessLost(program: TriedProgram) {
  return (error: unknown) => {
    if (!program.isOpen) throw error
  }
}
