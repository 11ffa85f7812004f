// The conformance tests that every driver must pass. The caller passes a function that builds the driver on its simulator.

import type { Fault } from '../../drivers/transports/simulated_line.ts'
import { mechanicalFaults } from '../../drivers/transports/simulator.ts'
import type { Leaves } from '../devices/operations.ts'
import { LabError, messageOf } from '../errors.ts'
import type { Test } from './assertions.ts'
import { endsEarly } from './early_end_conformance.ts'
import {
  acknowledged_ms,
  alike,
  canHave,
  comesToRest,
  detailsOf,
  end,
  faultsOf,
  isFailure,
  isMotionless,
  isStirring,
  knows,
  look_ms,
  type Make,
  margin_ms,
  namesOf,
  never,
  type Outcome,
  perform,
  prepare,
  type Query,
  queriesOf,
  query_ms,
  ready,
  readyFor,
  recover,
  type Subject,
  saysWhatToDo,
  settled,
  settledOr,
  still,
  stirs,
  timed,
  unwind_ms,
  type Watched,
  watched,
  worksAgain,
} from './subject.ts'
import { leavesOf, type Name, onlyReads, paramsOf } from './trials.ts'

export { type Name, paramsOf } from './trials.ts'

/** The tests that can also run in real time; so can `undisturbed`, `halted` and `unplugged` alone. */
export async function conformance(t: Test, make: Make): Promise<void> {
  await undisturbed(t, make)
  await halted(t, make)
  await unplugged(t, make)
}

export async function undisturbed(t: Test, make: Make): Promise<void> {
  const names = await namesOf(make)

  await t.test('asked who it is and how it does, it neither moves nor heats', async (t) => {
    const subject = await make()
    const details = detailsOf(subject)
    for (const ask of [() => subject.device.identify(), () => subject.device.check()]) {
      const asked = await still(subject, ask())
      t.notOk('error' in asked.outcome, 'it answers')
      t.notOk(asked.stirred, 'nothing stirs')
    }
    t.same(detailsOf(subject), details, 'nothing has changed')
    end(subject)
  })

  await t.test('initialize tells who it is and what it takes', async (t) => {
    const subject = await make()
    const { identity, limits = {} } = await subject.run(subject.device.initialize({}, never()))
    const asked = await subject.run(subject.device.identify())
    if (asked) t.same(asked, identity, 'it is the one that it says it is')
    if (isMotionless(subject)) t.ok(onlyReads(subject.device), 'no operation of a motionless device moves or heats')
    for (const [name, limit] of Object.entries(limits)) t.ok(limit.min < limit.max && subject.profile.limits[name], `${name} is a limit`)
    end(subject)
  })

  await t.test('it does each operation that it offers', async (t) => {
    const subject = await ready(make)
    for (const name of names) {
      await prepare(subject, name)
      await subject.run(perform(subject, name))
      t.pass(name)
    }
    end(subject)
  })
}

/** `watch_ms` is how long the test watches that a halted instrument does not move again. */
export async function halted(t: Test, make: Make, options: { names?: readonly Name[]; watch_ms?: number } = {}): Promise<void> {
  const { names = await namesOf(make), watch_ms = 60_000 } = options
  await t.test('a halt in the middle of an operation ends it, and nothing moves until it is initialized', async (t) => {
    for (const name of names) await halts(t, make, name, 0.5, watch_ms)
  })
}

export async function unplugged(t: Test, make: Make, options: { names?: readonly Name[] } = {}): Promise<void> {
  const { names = await namesOf(make) } = options
  await t.test('an operation fails when its line is unplugged, and works again after initialize', async (t) => {
    for (const name of names) await fails(t, make, name, 'unplug', 0.5)
  })
}

/** The tests that take too long in real time. */
export async function conformanceInVirtualTime(t: Test, make: Make): Promise<void> {
  const names = await namesOf(make)

  await t.test('a halt ends an operation at any moment', async (t) => {
    for (const name of names) for (const moment of [0, 0.1, 0.25, 0.75, 0.95, 0.98]) await halts(t, make, name, moment, 600_000)
  })

  await t.test('a halt when nothing runs stops heating too, and a second halt is as good as the first', async (t) => {
    const subject = await ready(make)
    for (const name of names) {
      await prepare(subject, name)
      await subject.run(perform(subject, name))
    }
    for (const which of ['first', 'second']) {
      const outcome = await settled(subject, subject.device.halt(), acknowledged_ms)
      t.ok(outcome && 'value' in outcome, `the ${which} halt is acknowledged`)
      t.ok(await comesToRest(subject), 'it rests')
    }
    end(subject)
  })

  await t.test('a halt that gets no answer is not acknowledged', async (t) => {
    if (!(await faultsOf(make)).includes('no_reply') || isMotionless(await make())) return
    for (const name of names) {
      const subject = await readyFor(make, name)
      watched(perform(subject, name))
      await subject.pass(look_ms)
      subject.setFault('no_reply')
      const outcome = await settled(subject, subject.device.halt(), query_ms)
      t.notOk(outcome && 'value' in outcome, name)
      end(subject)
    }
  })

  await t.test('each fault of the line ends an operation, and after initialize it works again', async (t) => {
    const faults = await faultsOf(make)
    for (const name of names) for (const fault of faults) for (const moment of [0, 0.5]) await fails(t, make, name, fault, moment)
  })

  await t.test('each fault of the line ends a query, and the next one is answered as before', async (t) => {
    const queries = await queriesOf(make)
    for (const fault of [...(await faultsOf(make)), 'unplug'] as const) for (const query of queries) await misses(t, make, query, fault)
  })

  await t.test('a check fails soon after the instrument has fallen silent', async (t) => {
    const subject = await ready(make)
    await subject.run(subject.device.check())
    const isAsked = subject.hangsOn === 'line' && (await queriesOf(make)).some(({ name }) => name === 'check')
    const silent = isAsked ? 'no_reply' : 'unplug'
    subject.setFault(silent)
    const until = subject.now() + query_ms
    let outcome: Outcome | undefined
    while (!(outcome && 'error' in outcome) && subject.now() < until) {
      await subject.pass(2000)
      outcome = await settled(subject, subject.device.check(), query_ms)
    }
    isFailure(t, outcome, `check, ${silent}`, silent)
    end(subject)
  })
  await queriesInVirtualTime(t, make, names)
  await endsEarly(t, make, names)
}

/** The rest of `conformanceInVirtualTime`: queries, late answers, and internal faults. */
async function queriesInVirtualTime(t: Test, make: Make, names: readonly Name[]): Promise<void> {
  await t.test('what comes and is no answer is reported as that, and silence as silence', async (t) => {
    for (const fault of ['garbage', 'no_reply'] as const) {
      if (!(await faultsOf(make)).includes(fault)) continue
      const [query] = await queriesOf(make)
      const subject = await ready(make)
      subject.setFault(fault)
      const outcome = query && (await settled(subject, query.ask(subject.device), query_ms))
      const words = outcome && 'error' in outcome ? messageOf(outcome.error) : ''
      if (query) t.equal(/it speaks, but not as/.test(words), fault === 'garbage', `${query.name}, ${fault}: ${words}`)
      end(subject)
    }
  })

  await t.test('a late reply is never the answer to a later question', async (t) => {
    const queries = (await faultsOf(make)).includes('late_reply') ? await queriesOf(make) : []
    for (const first of queries) for (const second of queries) await keepsApart(t, make, first, second)
  })

  await t.test('what it writes when it only asks does nothing on an instrument that is ready to move', async (t) => {
    const asking = await ready(make)
    asking.written.length = 0
    for (const query of await queriesOf(make)) await asking.run(query.ask(asking.device))
    const subject = await ready(make)
    for (const name of ['lock_plate', 'close'] as const) if (knows(subject.device, name)) await subject.run(perform(subject, name))
    const details = detailsOf(subject)
    for (const frame of new Set(asking.written)) {
      if (subject.hangsOn === 'board') t.match(frame, /^read /, 'no pin is set, and nothing is written on the bus')
      subject.write?.(Buffer.from(frame, 'latin1'))
      const { stirred } = await still(subject, subject.pass(3000))
      t.notOk(stirred, `nothing stirs at ${JSON.stringify(frame)}`)
    }
    t.same(detailsOf(subject), details, 'nothing has changed')
    end(asking)
    end(subject)
  })

  await t.test('readings are answered while an operation runs, which ends well all the same', async (t) => {
    const readings = (await queriesOf(make)).filter(({ name }) => name !== 'identify' && name !== 'check')
    for (const reading of readings) for (const name of names) await readsBetween(t, make, name, reading)
  })

  await t.test('what breaks in the instrument makes an operation or the next check fail', async (t) => {
    for (const fault of mechanicalFaults) {
      if (!(await canHave(make, fault))) continue
      const noticed: Name[] = []
      for (const name of names) if (await breaks(t, make, name, fault)) noticed.push(name)
      t.ok(noticed.length, `${fault} is noticed`, { noticed })
    }
  })
}

async function halts(t: Test, make: Make, name: Name, moment: number, watch_ms: number): Promise<void> {
  const subject = await readyFor(make, name)
  const what = `${name} ${subject.realTime ? 'as it moves' : `at ${moment * 100} %`}`
  const performing = watched(perform(subject, name))
  const took = await comesTo(moment, { make, subject, name, performing })
  if (took === 0) return end(subject)
  const before = subject.written.length
  const halting = watched(subject.device.halt())
  if (!isMotionless(subject)) t.ok(subject.written.length > before, `${what}: the bytes are on the wire when halt returns`)
  const performed = await settled(subject, performing, acknowledged_ms)
  t.ok(performed && 'error' in performed && performed.error instanceof LabError, `${what}: the operation ends, and not as done`)
  // An uninterruptible operation is halted when it has come to its end.
  const { uninterruptible } = subject.profile.features
  const halted = await settled(subject, halting, acknowledged_ms + (uninterruptible ? took : 0))
  t.ok(halted && 'value' in halted, `${what}: the halt is acknowledged`)
  if (uninterruptible) t.notOk(isStirring(subject), `${what}: and not before it is at rest`)
  t.ok(await comesToRest(subject), `${what}: it comes to rest`)
  t.notOk(await stirs(subject, watch_ms), `${what}: it stays at rest`)
  await tellsWhere(t, subject, name, what)
  await worksAgain(t, subject, name, what)
  end(subject)
}

/** Checks that a storage tells where a plate is after an interrupted move, as far as it can, and that the plate is in one place. */
async function tellsWhere(t: Test, subject: Subject, name: Name, what: string): Promise<void> {
  const { device, simulator, profile } = subject
  const { places } = simulator
  if (!places || !device.whereIsPlate || (name !== 'store' && name !== 'retrieve')) return
  const { station, handler } = await subject.run(device.whereIsPlate())
  for (const [place, seen] of Object.entries({ station, handler }) as ['station' | 'handler', boolean | null][])
    t.ok(seen === null || seen === places.has(place), `${what}: it tells whether a plate is at the ${place}`)
  const all = ['station', 'handler', Number(paramsOf(name, profile).slot)] as const
  t.equal(all.filter((place) => places.has(place)).length, 1, `${what}: the plate is in one place`)
}

async function fails(t: Test, make: Make, name: Name, fault: Fault, moment: number): Promise<void> {
  const subject = await readyFor(make, name)
  const what = `${name}, ${fault} ${subject.realTime ? 'as it moves' : `at ${moment * 100} %`}`
  const abort = new AbortController()
  const performing = watched(perform(subject, name, abort.signal))
  const took = await comesTo(moment, { make, subject, name, performing })
  if (took === 0) return end(subject)
  subject.setFault(fault)
  let outcome = await settled(subject, performing, took + margin_ms(name, subject))
  if (!outcome) {
    abort.abort(new LabError('no_reply', 'it did not end in time; see the instrument'))
    outcome = await settled(subject, performing, unwind_ms)
  }
  isFailure(t, outcome, what, fault)
  await recover(t, subject)
  await worksAgain(t, subject, name, what)
  end(subject)
}

/** The effects of an operation that heats. */
const heat: ReadonlySet<Leaves> = new Set(['heat', 'lid heat'])

type Under = { make: Make; subject: Subject; name: Name; performing: Watched }

/**
 * Lets an operation run to the fraction `moment` of its duration, or in real time until it moves, or heats if it does nothing else. Returns its duration. An
 * operation of no duration, as where a device has nothing to ask, has no middle, and is not disturbed.
 */
async function comesTo(moment: number, { make, subject, name, performing }: Under): Promise<number> {
  if (subject.realTime) {
    // An operation that does nothing but heat has begun when it heats.
    const leaves = leavesOf(name, paramsOf(name, subject.profile), subject.profile)
    const onlyHeats = heat.has(leaves) && !('duration' in paramsOf(name, subject.profile))
    const hasBegun = () => (onlyHeats ? isStirring(subject) : subject.simulator.world.moving)
    while (!performing.outcome && !hasBegun() && !isMotionless(subject)) await subject.pass(20)
    return Number.POSITIVE_INFINITY
  }
  const took = await timed(make, name)
  await subject.pass(took * moment)
  return took
}

async function misses(t: Test, make: Make, query: Query, fault: Fault): Promise<void> {
  const what = `${query.name}, ${fault}`
  const subject = await ready(make)
  const usual = await subject.run(query.ask(subject.device))
  subject.setFault(fault)
  isFailure(t, await settled(subject, query.ask(subject.device), query_ms), what, fault)
  subject.clearFaults()
  if (subject.link.state !== 'open') await subject.link.open()
  const again = await settled(subject, query.ask(subject.device), query_ms)
  t.ok(again && 'value' in again && alike(again.value, usual), `${what}: it is answered as before`)
  end(subject)
}

async function keepsApart(t: Test, make: Make, first: Query, second: Query): Promise<void> {
  const subject = await ready(make)
  const usual = await subject.run(second.ask(subject.device))
  subject.setFault('late_reply')
  const missed = watched(first.ask(subject.device))
  await subject.pass(5000)
  subject.clearFaults()
  for (let times = 0; times < 12; times++) {
    const outcome = await settled(subject, second.ask(subject.device), query_ms)
    t.ok(outcome && ('error' in outcome || alike(outcome.value, usual)), `${second.name} after ${first.name}: its own answer or none`)
    await subject.pass(300)
  }
  t.ok(await settled(subject, missed, query_ms), `${first.name} has ended`)
  end(subject)
}

async function readsBetween(t: Test, make: Make, name: Name, reading: Query): Promise<void> {
  const took = await timed(make, name)
  const subject = await readyFor(make, name)
  const performing = watched(perform(subject, name))
  for (let times = 0; times < 4; times++) {
    const outcome = await settled(subject, reading.ask(subject.device), query_ms)
    t.ok(outcome && 'value' in outcome, `${reading.name} during ${name}`)
    await subject.pass(took / 8)
  }
  const performed = await settled(subject, performing, 2 * took + margin_ms(name, subject))
  t.ok(performed && 'value' in performed, `${name} ends well`)
  end(subject)
}

/** Returns whether the operation noticed the fault. It need not notice a fault that does not concern it. */
async function breaks(t: Test, make: Make, name: Name, fault: Fault): Promise<boolean> {
  const what = `${name}, ${fault}`
  const took = await timed(make, name)
  const subject = await readyFor(make, name)
  const performing = watched(perform(subject, name))
  await subject.pass(took / 2)
  subject.setFault(fault)
  const performed = await settledOr(subject, performing, took + margin_ms(name, subject))
  const checked = await settledOr(subject, subject.device.check(), query_ms)
  const errors = [performed, checked].flatMap((outcome) => ('error' in outcome ? [outcome.error] : []))
  for (const error of errors) saysWhatToDo(t, error, what)
  t.ok(
    errors.every((error) => error instanceof LabError),
    `${what}: it ends, and says what is wrong if anything is`,
    { errors },
  )
  await recover(t, subject)
  await worksAgain(t, subject, name, what)
  end(subject)
  return errors.length > 0
}
