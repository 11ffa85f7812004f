// Checks of what the program answers: its operations, its readings, and questions that it has not described.

import { isRefusal } from '../../../src/devices/failure.ts'
import { LabError } from '../../../src/errors.ts'
import type { Activity } from './activities.ts'
import { answer_s, type TriedProgram } from './program.ts'
import { advice, Note, NotTried, type Report, seconds } from './report.ts'

export async function answers(program: TriedProgram): Promise<string> {
  return `answered in ${seconds(await program.timed(() => program.check()))}`
}

export async function reads(program: TriedProgram, name: string): Promise<string> {
  await ready(program)
  const { value, target } = await program.read(name)
  const unit = program.description.readings[name]!.unit
  return `${value} ${unit}${target === null ? '' : `, target ${target} ${unit}`}`.replaceAll(' ,', ',').trim()
}

/** Does an activity to its end, and notes how long it took. */
export async function does(program: TriedProgram, activity: Activity): Promise<string> {
  const { name, usual_s, limit_s } = activity
  if (name !== 'initialize') await ready(program)
  await program.within(activity.prepare(), limit_s, `the program cannot be prepared for ${name}`)
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

/** Tries questions that the program has not described. */
export async function refuses(program: TriedProgram, report: Report, activity: Activity | undefined): Promise<void> {
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

/** Makes the program ready for operations. A program that was started anew and failed is not tried again. */
export async function ready(program: TriedProgram): Promise<void> {
  if (program.lastStart) throw new NotTried(program.lastStart)
  await program.ready().catch((error: unknown) => {
    program.lastStart = `it cannot be initialized any more: ${program.sentenceOf(error)}`
    throw new NotTried(program.lastStart)
  })
}
