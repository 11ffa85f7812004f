// The conformance tests on the wire, frame by frame and in virtual time: what a driver writes, and how it copes with disturbed answers.

import type { OnWire } from '../../drivers/transports/line.ts'
import { heldOf } from '../devices/operations.ts'
import { LabError } from '../errors.ts'
import type { Test } from './assertions.ts'
import {
  acknowledged_ms,
  alike,
  detailsOf,
  end,
  isFailure,
  isMotionless,
  isStirring,
  knows,
  longer,
  margin_ms,
  namesOf,
  never,
  perform,
  type Query,
  queriesOf,
  query_ms,
  ready,
  readyFor,
  recover,
  type Subject,
  settled,
  still,
  timed,
  unwind_ms,
  type Watched,
  watched,
  worksAgain,
} from './subject.ts'
import type { Hand } from './tampered.ts'
import { lasting_s, type Name, takesTime, usual_s } from './trials.ts'

/** A driver in virtual time, where repeated work gives the same traffic at the same moments. */
export type VirtualSubject = Subject & {
  /** Tampers with what the instrument sends; absent on pins, which send nothing. */
  hand?: Hand
  /** Whether a loss of power during an operation shows in its answers. */
  showsRestart: boolean
  onWire(watch: OnWire): void
}
export type MakeVirtual = () => Promise<VirtualSubject>

export async function conformanceOnTheWire(t: Test, make: MakeVirtual): Promise<void> {
  const names = await namesOf(make)
  await t.test('a stop behind any frame of an operation is whole, and nothing but the stop and questions comes after it', async (t) => {
    const harmless = await harmlessFrames(make)
    for (const name of names) {
      const frames = await framesOf(make, name)
      for (const nth of firstOnes(frames)) {
        await stopsBehind(t, make, { name, frames, nth, harmless, turns: undefined })
        if (name !== 'initialize') for (const turns of [2, 6]) await stopsBehind(t, make, { name, frames, nth, harmless, turns })
      }
    }
  })

  if (!(await make()).hand) return

  await t.test('what moves it or heats it is never said again when it is not answered, and nothing else that does', async (t) => {
    const stirring = await stirringFrames(make, names)
    if (!isMotionless(await make())) t.ok(stirring.size, 'something moves it')
    for (const name of names) {
      const frames = await framesOf(make, name)
      for (const lost of ['one', 'all'] as const)
        for (const nth of firstOnes(frames)) await losesAnswers(t, make, { name, frames, nth, stirring, lost })
    }
  })

  await t.test('a gentle end that the instrument does not hear makes no fault, and the operation goes on', async (t) => {
    const { ends_early = [] } = (await make()).profile
    // An operation that is held must not go on: `hold.test.ts` shows that the instrument is halted.
    for (const name of ends_early) if (!heldOf(name)) await endsUnheard(t, make, name)
  })

  await t.test('answers that all come twice are each taken once', async (t) => {
    const queries = await queriesOf(make)
    for (const name of names) {
      const subject = await readyFor(make, name)
      subject.hand?.change(twice)
      const within_ms = (await timed(make, name)) + margin_ms(name, subject)
      const outcome = await settled(subject, perform(subject, name), within_ms)
      t.ok(outcome && 'value' in outcome, `${name} is done`, { outcome })
      for (const query of queries) {
        subject.hand?.leave()
        const usual = await subject.run(query.ask(subject.device))
        subject.hand?.change(twice)
        await asUsual(t, subject, query, usual)
      }
      end(subject)
    }
  })

  await t.test('noise while nobody asks anything, and answers to what was asked before, change no answer', async (t) => {
    const noises = [...nonsense, ...(await answersOf(make))]
    for (const query of await queriesOf(make)) {
      const subject = await ready(make)
      const usual = await subject.run(query.ask(subject.device))
      for (const noise of noises) {
        subject.hand?.say(noise)
        await subject.pass(1000)
        await asUsual(t, subject, query, usual)
      }
      end(subject)
    }
  })

  await t.test('half an answer is none, and its rest that comes late is not the beginning of another', async (t) => {
    const queries = await queriesOf(make)
    for (const ms of [1200, 4000])
      for (const first of queries) for (const second of queries) await keepsHalvesApart(t, make, { first, second, ms })
  })

  await t.test('an answer without end fails an operation, and after initialize it works again', async (t) => {
    for (const name of names) await failsTampered(t, make, name, (subject) => subject.hand?.change(endless))
  })

  await t.test('an instrument that restarts in the middle of an operation has not done it', async (t) => {
    const { showsRestart, profile } = await make()
    for (const name of names.filter((name) => showsRestart && takesTime(name, profile)))
      await failsTampered(t, make, name, (subject) => subject.hand?.restart())
  })
}

type Pass = Parameters<Hand['change']>[0]

const twice: Pass = (bytes, send) => {
  send(bytes)
  send(bytes)
}
/** Sends more than a line's buffer holds, without anything that could end a frame. */
const endless: Pass = (_bytes, send) => send(new Uint8Array(6000).fill(0x78))
/** The time within which the last byte has come, at 9600 baud. */
const endless_ms = 60_000
const nonsense: Uint8Array[] = [Buffer.from([0xff, 0x00, 0xfe, 0x80]), Buffer.from('no\x1ese'), Buffer.from('half a li')]

/** Returns all answers of the instrument to queries. */
async function answersOf(make: MakeVirtual): Promise<Uint8Array[]> {
  const subject = await ready(make)
  const said = new Map<string, Uint8Array>()
  subject.hand?.change((bytes, send) => {
    said.set(Buffer.from(bytes).toString('hex'), bytes)
    send(bytes)
  })
  for (const query of await queriesOf(make)) await subject.run(query.ask(subject.device))
  end(subject)
  return [...said.values()]
}

/** Returns the indexes at which each frame comes for the first time. */
function firstOnes(frames: readonly string[]): number[] {
  return [...new Set(frames)].map((frame) => frames.indexOf(frame))
}

/** Returns all frames of an undisturbed operation. */
async function framesOf(make: MakeVirtual, name: Name): Promise<string[]> {
  const subject = await readyFor(make, name)
  subject.written.length = 0
  await subject.run(perform(subject, name))
  end(subject)
  return subject.written
}

/** Returns the frames that halt an instrument or query it. */
async function harmlessFrames(make: MakeVirtual): Promise<ReadonlySet<string>> {
  const subject = await ready(make)
  subject.written.length = 0
  for (const query of await queriesOf(make)) await subject.run(query.ask(subject.device))
  await subject.run(subject.device.halt())
  for (const query of await queriesOf(make)) await settled(subject, query.ask(subject.device), query_ms)
  end(subject)
  return new Set(subject.written)
}

/** The moment of a stop: `turns` of the microtask queue after the answer to frame `nth`, where an operation goes to its next step; if undefined, before the answer. */
type Behind = { name: Name; frames: readonly string[]; nth: number; harmless: ReadonlySet<string>; turns: number | undefined }

/** Loses every command that ends the operation, until the caller has learned that the end was not acknowledged. */
async function endsUnheard(t: Test, make: MakeVirtual, name: Name): Promise<void> {
  const subject = await readyFor(make, name)
  const ramp_s = usual_s(name, subject.profile)
  const params = longer(name, subject.profile, 60 + ramp_s)
  const performing = watched(perform(subject, name, never(), params))
  const ramp_ms = 1000 * ramp_s
  await subject.pass(ramp_ms + 20_500)
  subject.hand?.deafen()
  const ending = watched(subject.device.end!())
  const until = subject.now() + query_ms
  while (!ending.outcome && subject.now() < until) await subject.pass(10)
  subject.hand?.leave()
  t.ok(ending.outcome && 'error' in ending.outcome, `${name}: whoever asked hears that it was not acknowledged`, ending)
  await subject.pass(5000)
  t.ok(isStirring(subject) && !performing.outcome, `${name}: it goes on`, performing)
  const performed = await settled(subject, performing, margin_ms(name, subject) + 1000 * lasting_s(name, params, subject.profile))
  t.ok(performed && 'value' in performed, `${name}: it comes to its own end`, { performed })
  end(subject)
}

async function stopsBehind(t: Test, make: MakeVirtual, { name, frames, nth, harmless, turns }: Behind): Promise<void> {
  const what = `${name}, stopped ${turns ?? 'no'} turns behind ${JSON.stringify(frames[nth])}`
  const subject = await readyFor(make, name)
  subject.written.length = 0
  let halting: Watched | undefined
  let stopping: Promise<void> | undefined
  let before: string[] = []
  const stop = async () => {
    for (let turn = 0; turn < (turns ?? 1); turn++) await Promise.resolve()
    before = [...subject.written]
    halting = watched(subject.device.halt())
  }
  subject.onWire((direction) => {
    const now = direction === (turns === undefined ? 'to_device' : 'to_host') && subject.written.length === nth + 1
    if (now && !stopping) stopping = stop()
  })
  const performing = watched(perform(subject, name))
  t.ok(await settled(subject, performing, (await timed(make, name)) + acknowledged_ms), `${what}: it ends`)
  t.same(before, frames.slice(0, before.length), `${what}: what was said before is whole`)
  // Not every frame is answered.
  if (turns !== undefined && !halting) return end(subject)
  t.ok(halting, `${what}: there was a stop`)
  await subject.pass(acknowledged_ms)
  const after = subject.written.slice(before.length)
  const begun = sameTransfer(frames, nth)
  for (const frame of new Set(after)) {
    const harms = !harmless.has(frame) && !begun.has(frame) && !(await doesNothing(make, frame))
    t.notOk(harms, `${what}: and ${JSON.stringify(frame)} after it does nothing`)
  }
  end(subject)
}

/** Returns the frames of an I2C bus that belong to the same transfer as a write. */
function sameTransfer(frames: readonly string[], nth: number): ReadonlySet<string> {
  const [part] = /^write \S+/.exec(frames[nth]!) ?? []
  const rest = frames.slice(nth + 1)
  const other = rest.findIndex((frame) => part === undefined || !frame.startsWith(part))
  return new Set(other < 0 ? rest : rest.slice(0, other))
}

const idle = new WeakMap<MakeVirtual, Map<string, boolean>>()

/** Whether a frame has no effect on an instrument that is ready to move. */
async function doesNothing(make: MakeVirtual, frame: string): Promise<boolean> {
  const known = idle.get(make) ?? new Map<string, boolean>()
  idle.set(make, known)
  const does = known.get(frame) ?? (await isIdle(make, frame))
  known.set(frame, does)
  return does
}

async function isIdle(make: MakeVirtual, frame: string): Promise<boolean> {
  const subject = await ready(make)
  if (!subject.write) return /^read /.test(frame)
  for (const name of ['lock_plate', 'close'] as const) if (knows(subject.device, name)) await subject.run(perform(subject, name))
  const details = JSON.stringify(detailsOf(subject))
  subject.write(Buffer.from(frame, 'latin1'))
  const { stirred } = await still(subject, subject.pass(3000))
  const same = JSON.stringify(detailsOf(subject)) === details
  end(subject)
  return !stirred && same
}

async function stirringFrames(make: MakeVirtual, names: Name[]): Promise<ReadonlySet<string>> {
  const stirring = new Set<string>()
  for (const name of names) {
    const subject = await readyFor(make, name)
    const before = subject.hand?.stirredBy.length ?? 0
    await subject.run(perform(subject, name))
    for (const frame of subject.hand?.stirredBy.slice(before) ?? []) stirring.add(frame)
    end(subject)
  }
  return stirring
}

type Silence = { frames: readonly string[]; lost: 'all' | 'one'; name: Name; nth: number; stirring: ReadonlySet<string> }

/** Drops all answers from a frame on, or until the next frame. A query is repeated, and the operation goes on. */
async function losesAnswers(t: Test, make: MakeVirtual, { name, frames, nth, stirring, lost }: Silence): Promise<void> {
  const subject = await readyFor(make, name)
  subject.written.length = 0
  subject.onWire((direction) => {
    if (direction === 'to_host') return
    if (subject.written.length === nth + 1) subject.hand?.change(() => {})
    else if (lost === 'one') subject.hand?.leave()
  })
  const abort = new AbortController()
  const performing = watched(perform(subject, name, abort.signal))
  const ended = await settled(subject, performing, (await timed(make, name)) + margin_ms(name, subject))
  if (!ended) abort.abort(new Error('enough'))
  await settled(subject, performing, unwind_ms)
  const allowed = lost === 'one' ? frames : frames.slice(0, nth + 1)
  for (const frame of stirring) {
    const times = timesIn(subject.written, frame)
    t.ok(
      times <= timesIn(allowed, frame),
      `${name}, ${lost} lost behind ${JSON.stringify(frames[nth])}: ${JSON.stringify(frame)} is said ${times} times`,
    )
  }
  end(subject)
}

function timesIn(frames: readonly string[], frame: string): number {
  return frames.filter((one) => one === frame).length
}

async function asUsual(t: Test, subject: Subject, query: Query, usual: unknown): Promise<void> {
  const outcome = await settled(subject, query.ask(subject.device), query_ms)
  t.ok(outcome && 'value' in outcome && alike(outcome.value, usual), `${query.name} is answered as ever`, { outcome, usual })
}

type Halves = { first: Query; second: Query; ms: number }

/** Stalls the line for `ms` in the middle of an answer, then delivers everything in order. */
async function keepsHalvesApart(t: Test, make: MakeVirtual, { first, second, ms }: Halves): Promise<void> {
  const what = `${second.name} after half of ${first.name} for ${ms} ms`
  const subject = await ready(make)
  const usual = await subject.run(second.ask(subject.device))
  const held: (() => void)[] = []
  subject.hand?.change((bytes, send) => {
    if (!held.length) send(bytes.subarray(0, bytes.length >> 1))
    const from = held.length ? 0 : bytes.length >> 1
    held.push(() => send(bytes.subarray(from)))
  })
  const missed = watched(first.ask(subject.device))
  await subject.pass(ms)
  subject.hand?.leave()
  for (const send of held) send()
  for (let times = 0; times < 8; times++) {
    const outcome = await settled(subject, second.ask(subject.device), query_ms)
    t.ok(outcome && ('error' in outcome || alike(outcome.value, usual)), `${what}: its own answer or none`, { outcome, usual })
    await subject.pass(300)
  }
  t.ok(await settled(subject, missed, query_ms), `${what}: ${first.name} has ended`)
  end(subject)
}

async function failsTampered(t: Test, make: MakeVirtual, name: Name, tamper: (subject: VirtualSubject) => void): Promise<void> {
  const took = await timed(make, name)
  if (took === 0) return
  const subject = await readyFor(make, name)
  const abort = new AbortController()
  const performing = watched(perform(subject, name, abort.signal))
  await subject.pass(took * 0.25)
  tamper(subject)
  let outcome = await settled(subject, performing, took + margin_ms(name, subject))
  if (!outcome) {
    abort.abort(new LabError('no_reply', 'it did not end in time; see the instrument'))
    outcome = await settled(subject, performing, unwind_ms)
  }
  isFailure(t, outcome, name, 'no_reply')
  subject.hand?.leave()
  await subject.pass(endless_ms)
  await recover(t, subject)
  await worksAgain(t, subject, name, name)
  end(subject)
}
