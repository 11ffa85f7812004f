// Checks, in virtual time, that a driver confirms a halt only on evidence. An echo, an earlier answer, or a missing port is no evidence.

import { LabError } from '../errors.ts'
import type { Test } from './assertions.ts'
import {
  comesToRest,
  end,
  isMotionless,
  longer,
  namesOf,
  never,
  perform,
  query_ms,
  readyFor,
  settled,
  type Watched,
  watched,
} from './subject.ts'
import { canLeaveOn, type Name } from './trials.ts'
import type { MakeVirtual, VirtualSubject } from './wire_conformance.ts'

/** How long the answers to an operation are held back before the halt. */
const held_ms = [0, 700, 3000]
/** The time between two late answers. */
const apart_ms = 50
/** After this time an operation has begun to move, and a heater is on. */
const into_ms = 5000

export async function conformanceOfStops(t: Test, make: MakeVirtual): Promise<void> {
  const names = await namesOf(make)
  if (!(await make()).hand) return
  if (isMotionless(await make())) return isConfirmedAlways(t, make, names)

  await t.test('an echo of what it says confirms no halt', async (t) => {
    for (const name of [undefined, ...names]) await echoes(t, make, name)
  })

  await t.test('late answers to what was asked before confirm no halt', async (t) => {
    for (const name of names) for (const ms of held_ms) await comeLate(t, make, name, ms)
  })

  await t.test('a halt on a port that is gone says that it was not sent', async (t) => {
    for (const name of names) await isGone(t, make, name)
  })

  await t.test('a halt is confirmed only when nothing is driven or heated, whichever of its frames is lost', async (t) => {
    const { profile } = await make()
    for (const name of names) if (canLeaveOn(name, profile)) await losesFrames(t, make, name)
  })
}

/** A device of which nothing moves or heats confirms a halt at once, and its operation ends, whatever its line does. */
async function isConfirmedAlways(t: Test, make: MakeVirtual, names: readonly Name[]): Promise<void> {
  await t.test('a halt of a device that neither moves nor heats is confirmed on a silent line and without one', async (t) => {
    for (const name of names)
      for (const fault of ['no_reply', 'unplug'] as const) {
        const subject = await readyFor(make, name)
        const performing = watched(perform(subject, name))
        subject.setFault(fault)
        t.ok(await isConfirmed(subject, sent(subject)), `${name}, ${fault}: the halt is confirmed`)
        t.ok(await settled(subject, performing, query_ms), `${name}, ${fault}: the operation has ended`)
        t.notOk(subject.simulator.world.moving || subject.simulator.world.heating, `${name}, ${fault}: nothing moves, nothing heats`)
        end(subject)
      }
  })
}

/** Replaces the instrument by an echo of all that is written. Without a name, the instrument was never initialized. */
async function echoes(t: Test, make: MakeVirtual, name: Name | undefined): Promise<void> {
  const subject = name ? await readyFor(make, name) : await make()
  if (name) await begun(subject, name)
  const { hand } = subject
  hand?.change(() => {})
  hand?.hear((frame) => {
    hand.say(Buffer.from(frame, 'latin1'))
    return false
  })
  for (const which of ['first', 'second'])
    t.notOk(await isConfirmed(subject, subject.device.halt()), `${name ?? 'not initialized'}: the ${which} halt is not confirmed`)
  end(subject)
}

/** Loses the halt, and delivers the answers to the operation afterwards. */
async function comeLate(t: Test, make: MakeVirtual, name: Name, ms: number): Promise<void> {
  const subject = await readyFor(make, name)
  const { hand } = subject
  const held: Uint8Array[] = []
  hand?.change((bytes) => held.push(bytes))
  watched(perform(subject, name))
  await subject.pass(ms)
  hand?.hear(() => false)
  const halting = watched(sent(subject))
  hand?.change(() => {})
  for (const bytes of held) {
    await subject.pass(apart_ms)
    hand?.say(bytes)
  }
  t.notOk(await isConfirmed(subject, halting), `${name}, whose answers come ${ms} ms late: the halt is not confirmed`)
  end(subject)
}

async function isGone(t: Test, make: MakeVirtual, name: Name): Promise<void> {
  const subject = await readyFor(make, name)
  await begun(subject, name)
  subject.setFault('unplug')
  const outcome = await settled(subject, sent(subject), query_ms)
  const code = outcome && 'error' in outcome && outcome.error instanceof LabError ? outcome.error.code : undefined
  t.ok(code === 'stop_not_sent', `${name}: it says that the halt was not sent`, { outcome })
  end(subject)
}

async function losesFrames(t: Test, make: MakeVirtual, name: Name): Promise<void> {
  const frames = await framesOfHalt(make, name)
  for (let nth = 0; nth < frames; nth++) {
    const subject = await readyFor(make, name)
    await begun(subject, name)
    let heard = 0
    subject.hand?.hear(() => heard++ !== nth)
    const what = `${name}, without frame ${nth + 1} of the halt`
    if (await isConfirmed(subject, sent(subject))) {
      t.notOk(subject.simulator.world.heating, `${what}: nothing heats when it is confirmed`)
      t.ok(await comesToRest(subject), `${what}: it comes to rest when it is confirmed`)
    }
    end(subject)
  }
}

async function framesOfHalt(make: MakeVirtual, name: Name): Promise<number> {
  const subject = await readyFor(make, name)
  await begun(subject, name)
  const before = subject.written.length
  await settled(subject, sent(subject), query_ms)
  end(subject)
  return subject.written.length - before
}

/** Begins the longest possible operation, and waits until it moves or heats. */
async function begun(subject: VirtualSubject, name: Name): Promise<void> {
  const { limits, own } = subject.profile
  const isTimed = own?.has(name) || ('duration' in limits && (name === 'shake' || name === 'centrifuge'))
  watched(isTimed ? perform(subject, name, never(), longer(name, subject.profile)) : perform(subject, name))
  await subject.pass(into_ms)
}

/** Halts the device; turns a thrown error into a rejection. */
async function sent({ device }: VirtualSubject): Promise<void> {
  await device.halt()
}

async function isConfirmed(subject: VirtualSubject, halting: Promise<unknown> | Watched): Promise<boolean> {
  const outcome = await settled(subject, halting, query_ms)
  return outcome !== undefined && 'value' in outcome
}
