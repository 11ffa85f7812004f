// Makes a driver on its simulator ready for the conformance tests, performs its operations, waits, and looks.

import { type LineFault, lineFaults } from '../../drivers/transports/faults.ts'
import type { Fault } from '../../drivers/transports/simulated_line.ts'
import { type Mechanism, putPlates } from '../../drivers/transports/simulator.ts'
import type { Device, Link } from '../devices/device.ts'
import type { Performable } from '../devices/operations.ts'
import { measurements } from '../devices/reading_table.ts'
import { LabError, messageOf } from '../errors.ts'
import type { Test } from './assertions.ts'
import { longer as longest, margin_s, type Name, namesOn, paramsOf, preparing, type TriedProfile } from './trials.ts'

/** A driver on its simulator, in virtual or real time. */
export type Subject = {
  device: Device
  profile: TriedProfile
  simulator: Mechanism
  /** On a board's pins, a cable to the parts can be unplugged, but no answer is garbled, halved or late. */
  hangsOn: 'line' | 'board'
  link: Pick<Link, 'state' | 'open'>
  /** All that the host wrote, write by write, as latin1 text. */
  written: string[]
  /** Writes bytes on the line behind the driver's back. */
  write?(bytes: Uint8Array): void
  setFault(fault: Fault): boolean
  clearFaults(): void
  /** Lets time pass until the promise settles, and returns its result. */
  run<T>(promise: Promise<T>): Promise<T>
  /** Lets time pass. */
  pass(ms: number): Promise<void>
  now(): number
  /** Whether it runs in real time, where durations depend on the load of the computer and are not checked. */
  realTime?: true
}

export type Make = () => Promise<Subject>

export type Outcome = { value: unknown } | { error: unknown }

/** The error codes that blame the line or the instrument, not the caller. */
export const failures = new Set(['no_reply', 'device_failed', 'disconnected'])
/** The time limits for a halt to be acknowledged, for the halted instrument to rest (a rotor is slow), and for an aborted operation to end. */
export const acknowledged_ms = 10_000
export const rest_ms = 120_000
export const unwind_ms = 2000
/** The time limit for a query without an answer: two tries, and the recovery of the line. */
export const query_ms = 30_000
/** The time within which every late reply has come. */
export const quiet_ms = 8000
export const look_ms = 250

/** A duration, in s, that is long enough to distinguish an early end from a regular one. */
export const long_s = 600

/** Returns the same as `paramsOf`, with a long duration. */
export function longer(name: Name, profile: TriedProfile, seconds = long_s): Record<string, unknown> {
  return longest(name, profile, seconds)
}

/** Returns the time after which the service gives an operation up, besides the duration that it was asked for. */
export function margin_ms(name: Name, { profile }: Pick<Subject, 'profile'>): number {
  return margin_s(name, profile) * 1000
}

export async function canHave(make: Make, fault: Fault): Promise<boolean> {
  const subject = await make()
  const can = subject.setFault(fault)
  end(subject)
  return can
}

/** Does what the service and then an operator do after a failure: halt, repair, wait a little, initialize. */
export async function recover(t: Test, subject: Subject): Promise<void> {
  subject.clearFaults()
  if (subject.link.state !== 'open') await subject.link.open()
  await subject.pass(quiet_ms)
  await settled(subject, subject.device.halt(), acknowledged_ms)
  t.ok(await comesToRest(subject), 'it comes to rest when it is halted')
}

export async function worksAgain(t: Test, subject: Subject, name: Name, what: string): Promise<void> {
  try {
    await subject.run(subject.device.initialize({}, never()))
    await prepare(subject, name)
    await subject.run(perform(subject, name))
    t.pass(`${what}: after initialize it works again`)
  } catch (error) {
    t.fail(`${what}: after initialize it works again`, { error })
  }
}

/** Fails unless the outcome is a failure of the line or the instrument. An operation may also survive a late reply. */
export function isFailure(t: Test, outcome: Outcome | undefined, what: string, fault: Fault): void {
  if (outcome && 'value' in outcome && fault === 'late_reply') return
  const code = outcome && 'error' in outcome && outcome.error instanceof LabError ? outcome.error.code : undefined
  t.ok(code && failures.has(code), `${what}: it fails as the line or the instrument`, { outcome })
  if (outcome && 'error' in outcome) saysWhatToDo(t, outcome.error, what)
}

/** Matches an imperative that tells a person what to do. */
const action =
  /(^|[.;:,] (then )?|\band )(see|look|read|check|find|wait|use|call|switch|let|clear|close|open|remove|free|clean|load|put|plug|ask|update|initialize|stop|compare)\b/i
/** Matches the bare number of an error, without an explanation. */
const bareNumber = /\b(error|code|ERR) ?\d+\b(?! (\(|up in ))/

/** Fails unless the error message says what to do, and explains each error number. */
export function saysWhatToDo(t: Test, error: unknown, what: string): void {
  const sentence = messageOf(error)
  t.notMatch(sentence, bareNumber, `${what}: no number without words`)
  t.match(sentence, action, `${what}: it says what to do`)
}

export type Query = { name: string; ask(device: Device): Promise<unknown> }

/** Lists the queries that have no effect and reach the wire. */
export async function queriesOf(make: Make): Promise<Query[]> {
  const subject = await ready(make)
  const queries: Query[] = [
    { name: 'identify', ask: (device) => device.identify() },
    { name: 'check', ask: (device) => device.check() },
  ]
  for (const { question: name } of measurements()) if (subject.device[name]) queries.push({ name, ask: (device) => device[name]!() })
  for (const reading of Object.keys(subject.device.described?.readings ?? {}))
    queries.push({ name: reading, ask: (device) => device.described!.read(reading) })
  const asking: Query[] = []
  for (const query of queries) {
    const before = subject.written.length
    await subject.run(query.ask(subject.device))
    if (subject.written.length > before) asking.push(query)
  }
  end(subject)
  return asking
}

/** Returns the operations that the tests try. */
export async function namesOf(make: Make): Promise<Name[]> {
  const subject = await make()
  end(subject)
  return namesOn(subject.device)
}

export async function ready<S extends Subject>(make: () => Promise<S>): Promise<S> {
  const subject = await make()
  await subject.run(subject.device.initialize({}, never()))
  return subject
}

export async function faultsOf(make: Make): Promise<LineFault[]> {
  const subject = await make()
  end(subject)
  return subject.hangsOn === 'line' ? lineFaults : []
}

/** Prepares the device so that the operation can begin; for `initialize`, leaves it as it was switched on. */
export async function readyFor<S extends Subject>(make: () => Promise<S>, name: Name): Promise<S> {
  if (name === 'initialize') return make()
  const subject = await ready(make)
  await prepare(subject, name)
  return subject
}

export async function prepare(subject: Subject, name: Name): Promise<void> {
  putPlates(subject.simulator.places, name, paramsOf(name, subject.profile))
  for (const first of preparing(name, (one) => knows(subject.device, one))) await subject.run(perform(subject, first))
}

export function perform({ device, profile }: Subject, name: Name, signal = never(), params = paramsOf(name, profile)): Promise<unknown> {
  return operate(device, name, params, signal)
}

/** Performs an operation of the table, or one of the driver's own. */
export function operate(device: Device, name: Name, params: object, signal = never()): Promise<unknown> {
  const { described } = device
  if (described?.operations.has(name)) {
    const asked = { operation: name, params: params as Record<string, unknown>, operation_id: 'trial', deadline_s: 60, progressed() {} }
    return described.perform(asked, signal)
  }
  const method = device[name as Performable] as (params: object, signal: AbortSignal) => Promise<unknown>
  return method.call(device, params, signal)
}

/** Whether the device has an operation of the table. */
export function knows(device: Device, name: string): boolean {
  return device[name as Performable] !== undefined
}

const times = new WeakMap<Make, Map<Name, number>>()

/** Returns the duration of an undisturbed operation. */
export async function timed(make: Make, name: Name): Promise<number> {
  const known = times.get(make) ?? new Map<Name, number>()
  times.set(make, known)
  const took = known.get(name) ?? (await measured(make, name))
  known.set(name, took)
  return took
}

async function measured(make: Make, name: Name): Promise<number> {
  const subject = await readyFor(make, name)
  const began = subject.now()
  await subject.run(perform(subject, name))
  const took = subject.now() - began
  end(subject)
  return took
}

export type Watched = { promise: Promise<unknown>; outcome?: Outcome }

/** Records the outcome of a promise, so that no rejection is unhandled. */
export function watched(promise: Promise<unknown>): Watched {
  const watched: Watched = { promise }
  promise.then(
    (value) => {
      watched.outcome = { value }
    },
    (error) => {
      watched.outcome = { error }
    },
  )
  return watched
}

/** Returns the outcome; undefined if the promise has not settled within the time. */
export async function settled(subject: Subject, what: Promise<unknown> | Watched, within_ms: number): Promise<Outcome | undefined> {
  const watching = what instanceof Promise ? watched(what) : what
  const until = subject.realTime ? Number.POSITIVE_INFINITY : subject.now() + within_ms
  while (!watching.outcome && subject.now() < until) await subject.pass(look_ms)
  return watching.outcome
}

/** Returns the outcome, or an error if the promise has not settled within the time. */
export async function settledOr(subject: Subject, what: Promise<unknown> | Watched, within_ms: number): Promise<Outcome> {
  return (await settled(subject, what, within_ms)) ?? { error: new Error('it did not end') }
}

/** Whether nothing of the device moves or heats, so that a halt needs no evidence from the instrument. */
export function isMotionless({ profile }: Pick<Subject, 'profile'>): boolean {
  return profile.features.motionless === true
}

export function isStirring({ simulator }: Subject): boolean {
  return simulator.world.moving || simulator.world.heating
}

/** Waits for the promise, and returns whether anything moved or heated meanwhile. */
export async function still(subject: Subject, promise: Promise<unknown>): Promise<{ outcome: Outcome; stirred: boolean }> {
  const watching = watched(promise)
  let stirred = isStirring(subject)
  while (!watching.outcome) {
    await subject.pass(20)
    stirred ||= isStirring(subject)
  }
  return { outcome: watching.outcome, stirred }
}

export async function comesToRest(subject: Subject): Promise<boolean> {
  const until = subject.realTime ? Number.POSITIVE_INFINITY : subject.now() + rest_ms
  while (isStirring(subject) && subject.now() < until) await subject.pass(look_ms)
  return !isStirring(subject)
}

export async function stirs(subject: Subject, during_ms: number): Promise<boolean> {
  const until = subject.now() + during_ms
  while (!isStirring(subject) && subject.now() < until) await subject.pass(1000)
  return isStirring(subject)
}

/** Returns the visible state of the instrument, without the numbers, which drift. */
export function detailsOf({ simulator }: Subject): Record<string, unknown> {
  return Object.fromEntries(Object.entries(simulator.world).filter(([, value]) => typeof value !== 'number'))
}

/** Whether two answers are equal, except for drift. */
export function alike(one: unknown, other: unknown): boolean {
  if (typeof one === 'number' && typeof other === 'number') return Math.abs(one - other) < 2
  if (!one || !other || typeof one !== 'object' || typeof other !== 'object') return one === other
  return Object.entries(one).every(([key, value]) => alike(value, (other as Record<string, unknown>)[key]))
}

export function never(): AbortSignal {
  return new AbortController().signal
}

export function end({ simulator }: Subject): void {
  simulator.powerOff()
}
