import { test } from 'tap'
import * as v from 'valibot'
import { HandClock } from '../../src/testing/hand_clock.ts'
import { Person, personLink, settings } from './person.ts'

const person = (clock = new HandClock()) => new Person({ settings: v.parse(settings, {}), clock })

test('a person has settings without a word in the configuration, and refuses those that cannot be', (t) => {
  t.same(v.parse(settings, {}), { confirm: 'once', reminder_s: 120, ask_barcode: false, shared_space: false })
  for (const wrong of [
    { confirm: 'thrice' },
    { reminder_s: 0 },
    { reminder_s: 86_401 },
    { reminder_s: Number.NaN },
    { ask_barcode: 'yes' },
    { shared_space: 1 },
    { confirmation: 'once' },
  ])
    t.notOk(v.safeParse(settings, wrong).success, JSON.stringify(wrong))
  t.end()
})

test('a stop withdraws each task that is open, once, also one that is withdrawn in the midst of it', async (t) => {
  const hands = person()
  const withdrawn: string[] = []
  const others: (() => void)[] = []
  for (const name of ['one', 'other'])
    others.push(
      hands.person.undertake(({ code, message }) => {
        withdrawn.push(`${name} ${code} ${message}`)
        for (const forget of others) forget()
      }),
    )
  hands.person.undertake(() => void withdrawn.push('it was over'))()
  await hands.halt()
  const why = 'stopped it was stopped, and the task is withdrawn; a person may still hold the labware'
  t.same(withdrawn, [`one ${why}`, `other ${why}`])
  await hands.halt()
  t.equal(withdrawn.length, 2)
})

test('in a rehearsal the person takes time, and a stop of the run ends it', async (t) => {
  const clock = new HandClock()
  const hands = person(clock)
  const { signal } = new AbortController()
  const picked = hands.pick(undefined, signal)
  t.equal(clock.timers, 1)
  clock.ring()
  await picked
  const control = new AbortController()
  const placed = hands.place(undefined, control.signal)
  control.abort(new Error('enough'))
  await t.rejects(placed, { message: 'enough' })
  t.equal(clock.timers, 0)
})

test('a person is reached without a wire, has no identity, and needs no teachpoint', async (t) => {
  const hands = person()
  const link = personLink()
  await link.open()
  t.equal(link.state, 'open')
  t.same(await hands.initialize(), { identity: null })
  t.equal(await hands.identify(), null)
  await hands.check()
  t.equal(hands.points, 'own')
  await link.close()
})
