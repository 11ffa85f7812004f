// Steps that depend on saved values, on time and on temperature.

import * as v from 'valibot'
import { LabError, messageOf } from '../../errors.ts'
import { inSeconds } from '../../kit/seconds.ts'
import type { Save } from '../plans/action_schema.ts'
import { type Condition, holds, wordsOf } from '../plans/conditions.ts'
import type { StepList, StepPlan } from '../plans/plan.ts'
import { Scalar } from '../state/saved_value.ts'
import { roundsAhead, sideAhead } from './branches_ahead.ts'
import { scopeOf } from './channels.ts'
import { idle } from './move/route.ts'
import { timer } from './run_environment.ts'
import { addConditionRow, addWaitRow } from './step_rows.ts'
import type { LabwareThread } from './thread.ts'

type Step<Kind extends StepPlan['kind']> = Extract<StepPlan, { kind: Kind }>

/** Whether the condition holds for the thread's group. Throws `conflict` for a value that was not saved, or cannot be compared. */
export function isTrue(thread: LabwareThread, condition: Condition): boolean {
  const scope = scopeOf(thread.origin)
  try {
    return holds(condition, (name) => thread.execution.values.get(name, scope))
  } catch (error) {
    if (error instanceof TypeError) throw new LabError('conflict', error.message)
    throw error
  }
}

/** Returns the steps on the side that an `if` takes. */
export function sideOf(thread: LabwareThread, step: Step<'if'>): StepList {
  const { condition } = step
  if (thread.environment.trial === 'forecast') return sideAhead(thread, step).list
  const isSo = isTrue(thread, condition)
  const text = `${wordsOf(condition)}: ${isSo ? 'yes' : 'no'}`
  addConditionRow(thread, step, { of: 'if', side: isSo ? 'then' : 'else', text, condition })
  return isSo ? step.then : step.otherwise
}

/** Notes which case a branch takes; `isOther` for its `else`. */
export function tookCase(
  thread: LabwareThread,
  step: Step<'branch'>,
  { value, isOther }: { value: string | null; isOther: boolean },
): void {
  const { event } = step
  const text = value === null ? `${event} came without a value` : `${event} came with ${JSON.stringify(value)}`
  addConditionRow(thread, step, { of: 'branch', side: isOther ? 'else' : value!, text, event, value })
}

/** Returns the steps of another round; undefined after the last one. Counts the rounds in the state of the thread. */
export function nextRound(thread: LabwareThread, step: Step<'repeat'>): StepList | undefined {
  const { path, body, until: asked } = step
  const isForecast = thread.environment.trial === 'forecast'
  const rounds = isForecast ? roundsAhead(thread, step).rounds : step.rounds
  const until = isForecast ? undefined : asked
  const done = thread.state.rounds.find((one) => one.path === path)?.count ?? 0
  const others = thread.state.rounds.filter((one) => one.path !== path)
  const condition = done > 0 && done < rounds ? until : undefined
  const isMet = condition !== undefined && isTrue(thread, condition)
  const isOver = done >= rounds || isMet
  thread.set({ rounds: isOver ? others : [...others, { path, count: done + 1 }] })
  const round = `round ${done + 1} of ${until ? 'at most ' : ''}${rounds} begins`
  const text = [condition && `${wordsOf(condition)}: ${isMet ? 'yes' : 'no'}`, isOver ? `ends after round ${done}` : round]
  const words = text.filter((one) => one !== undefined).join('; ')
  addConditionRow(thread, step, { of: 'repeat', side: isOver ? 'end' : 'again', round: done, text: words, condition })
  return isOver ? undefined : body
}

/** Waits for a time, by the clock of the run. It goes on while the service is down. */
export async function pass(thread: LabwareThread, step: Step<'delay'>): Promise<void> {
  const { path, seconds } = step
  const { environment, execution } = thread
  const { clock } = environment
  const now = execution.now()
  const until = thread.state.delay?.path === path ? thread.state.delay.until : now + seconds
  thread.set({ delay: { path, until } })
  const ends_ms = clock.now() + Math.min(seconds, Math.max(0, until - now)) * 1000
  thread.delayEnds_ms = ends_ms
  const ended = (error?: unknown) => {
    addWaitRow(thread, step, { of: 'delay', began: until - seconds, seconds, error })
    thread.set({ delay: null })
  }
  try {
    await thread.control.pausable(async () => {
      thread.become('AWAITING_EVENT')
      await idle<void>(thread, { kind: 'device', what: `${inSeconds(seconds)} to pass` }, (resolve) =>
        clock.after(Math.max(0, ends_ms - clock.now()), resolve),
      )
      thread.become('RESOLVING_ACTION_LOCATION')
    })
  } catch (error) {
    ended(error)
    throw error
  }
  ended()
}

/** The interval of the questions for the temperature, s. */
const look_s = 5

/**
 * Waits until a device has its target temperature. The timeout goes on over a pause and while the service is down. In PURE_SIM no device has a
 * temperature, so the wait ends at once.
 */
export async function reachTemperature(thread: LabwareThread, step: Step<'until_temperature'>): Promise<void> {
  if (thread.environment.mode === 'PURE_SIM') return
  await thread.insist('WAIT_EVENT_TIMEOUT', () => reachOnce(thread, step))
}

/** Waits as `reachTemperature` does. Rejects with the error that holds the thread. */
async function reachOnce(thread: LabwareThread, step: Step<'until_temperature'>): Promise<void> {
  const { path, device, within, timeout } = step
  const { environment, execution, control } = thread
  const { clock, equipment } = environment
  const now = execution.now()
  const before = thread.state.warming
  const warming = before?.path === path ? before : { path, began: now, until: timeout > 0 ? now + timeout : null }
  thread.set({ warming })
  const { began, until } = warming
  const latest_ms = until === null ? Number.POSITIVE_INFINITY : clock.now() + Math.min(timeout, Math.max(0, until - now)) * 1000
  let target: number | null = null
  let isLate = false
  const ended = (error?: unknown) => {
    addWaitRow(thread, step, { of: 'until_temperature', device_id: device, began, target, isLate, error })
    thread.set({ warming: null })
  }
  try {
    await control.pausable(async () => {
      thread.become('AWAITING_EVENT')
      for (;;) {
        const reading = await temperatureOf(thread, equipment, device)
        target = reading.target
        if (target === null)
          throw new LabError('conflict', `${device} has no target temperature; set one before the step that waits for it`)
        const { temperature } = reading
        if (Math.abs(temperature - target) <= within) break
        isLate = clock.now() >= latest_ms
        if (isLate)
          throw new LabError('no_reply', `${device} did not reach ${target} °C within ${inSeconds(timeout)}: it has ${temperature} °C`)
        const what = `${device} to reach ${target} °C (it has ${temperature} °C)`
        await idle<void>(thread, { kind: 'device', what }, (resolve) => timer(clock, look_s, resolve))
      }
      thread.become('RESOLVING_ACTION_LOCATION')
    })
  } catch (error) {
    ended(error)
    throw error
  }
  ended()
}

type Reading = { temperature: number; target: number | null }

async function temperatureOf(
  thread: LabwareThread,
  equipment: LabwareThread['environment']['equipment'],
  device: string,
): Promise<Reading> {
  try {
    return (await equipment.perform(device, 'get_temperature', {}, { signal: thread.control.signal })) as Reading
  } catch (error) {
    throw new LabError('no_reply', `the temperature of ${device} cannot be read: ${messageOf(error)}`, { cause: error })
  }
}

/** Saves members of the result of an operation. In a simulation without such a member, the example that the workflow declares is saved. */
export function saveFrom(thread: LabwareThread, save: Save, result: unknown): void {
  const { execution, environment } = thread
  const data = isRecord(result) && 'data' in result ? result.data : result
  for (const [name, member] of Object.entries(save)) {
    const found = withoutUnit(memberOf(data, member))
    const value = found === undefined && environment.mode !== 'LIVE' ? execution.workflow.document.values?.[name]?.example : found
    execution.values.save(name, mustBeScalar(value, { name, member, data }), scopeOf(thread.origin))
  }
}

/** Returns the value of `{"value": 2.2, "unit": "g"}`, which the record of the run names without its unit, too; anything else as it is. */
function withoutUnit(found: unknown): unknown {
  return isRecord(found) && Object.hasOwn(found, 'value') && Object.hasOwn(found, 'unit') ? found['value'] : found
}

/** Finds a member by its name, or by names with dots between them: `wells.A1`, `readings.0`. */
function memberOf(data: unknown, member: string): unknown {
  if (isRecord(data) && Object.hasOwn(data, member)) return data[member]
  return member.split('.').reduce<unknown>((inner, name) => (isRecord(inner) && Object.hasOwn(inner, name) ? inner[name] : undefined), data)
}

function mustBeScalar(value: unknown, { name, member, data }: { name: string; member: string; data: unknown }): Scalar {
  if (v.is(Scalar, value)) return value
  const has = isRecord(data) ? Object.keys(data).slice(0, 20).join(', ') : ''
  const what =
    value === undefined
      ? `the result has no member ${member}; it has ${has || 'none'}`
      : `${member} of the result is neither a number nor a text of at most 1000 characters`
  throw new LabError('device_failed', `the value ${name} cannot be saved: ${what}; see what the device measures, then try again`)
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}
