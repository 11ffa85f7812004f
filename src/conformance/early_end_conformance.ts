// Checks, in virtual time, that an operation which can end early ends well before its time.

import type { EndedEarly } from '../devices/device.ts'
import { heldOf } from '../devices/operations.ts'
import type { Test } from './assertions.ts'
import { end, longer, type Make, never, perform, prepare, readyFor, rest_ms, settled, watched } from './subject.ts'
import { lasting_s, type Name } from './trials.ts'

/** Tests what `Device.end` promises. The profile lists the operations that can end early, and only those are tried. */
export async function endsEarly(t: Test, make: Make, names: readonly Name[]): Promise<void> {
  const { device, profile } = await make()
  const all = profile.ends_early ?? []
  t.equal(device.end !== undefined, all.length > 0, 'it has a gentle end exactly where its profile lists operations that can end early')
  const early = all.filter((name) => !heldOf(name))
  t.ok(
    early.every((name) => names.includes(name)),
    'they are operations of it',
  )
  await t.test('an operation that can end early ends well before its time, and the next one needs no initialize', async (t) => {
    for (const name of early) for (const moment of [0, 0.02, 0.3]) await endsWell(t, make, name, moment)
  })
}

async function endsWell(t: Test, make: Make, name: Name, moment: number): Promise<void> {
  const subject = await readyFor(make, name)
  const what = `${name}, ended at ${moment * 100} %`
  const began = subject.now()
  const params = longer(name, subject.profile)
  const lasts_s = lasting_s(name, params, subject.profile)
  const performing = watched(perform(subject, name, never(), params))
  await subject.pass(lasts_s * 1000 * moment)
  const gone_s = (subject.now() - began) / 1000
  const ending = watched(subject.device.end!())
  const performed = await settled(subject, performing, rest_ms)
  t.ok(performed && 'value' in performed, `${what}: it ends well`, { performed })
  const ended = await settled(subject, ending, 0)
  const { seconds_left } = (ended && 'value' in ended ? ended.value : { seconds_left: Number.NaN }) as EndedEarly
  t.ok(seconds_left <= lasts_s && seconds_left >= lasts_s - gone_s - 5, `${what}: it tells how much was left`, { ended })
  t.notOk(subject.simulator.world.moving, `${what}: it rests`)
  await prepare(subject, name)
  await subject.run(perform(subject, name))
  t.pass(`${what}: the next one runs to its own end`)
  end(subject)
}
