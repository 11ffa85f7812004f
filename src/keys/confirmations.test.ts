// Confirmations: who sees a code, how often it may be wrong, and how many wait.

import { test } from 'tap'
import { VirtualClock } from '../kit/clock.ts'
import { Confirmations } from './confirmations.ts'

const asker = { key_id: 'a', name: 'assistant', client: 'helper 1' }

function opened() {
  const clock = new VirtualClock()
  return { clock, confirmations: new Confirmations({ clock, now: () => clock.now() / 1000 }) }
}

/** The code that another key sees. */
function codeOf(confirmations: Confirmations, confirmation_id: string): string {
  return confirmations.list('b').find((one) => one.confirmation_id === confirmation_id)!.code!
}

test('a code holds once, for its own confirmation and its own key', (t) => {
  const { confirmations } = opened()
  const [first, second] = [confirmations.request('shake', asker), confirmations.request('open', asker)]
  const code = codeOf(confirmations, first.confirmation_id)
  t.same(
    confirmations.list('a').map((one) => one.code),
    [null, null],
  )
  t.throws(() => confirmations.check(first.confirmation_id, code, 'b'), { code: 'not_found' })
  t.throws(() => confirmations.check(second.confirmation_id, code, 'a'), { code: 'forbidden' })
  confirmations.check(first.confirmation_id, ` ${code.toLowerCase().replace('-', '')} `, 'a')
  t.throws(() => confirmations.check(first.confirmation_id, code, 'a'), { code: 'not_found' })
  t.match(confirmations.list('b'), [{ confirmation_id: second.confirmation_id, text: 'open', name: 'assistant', client: 'helper 1' }])
  t.end()
})

test('a confirmation ends with its third wrong code, when it is denied, and after two minutes', async (t) => {
  const { clock, confirmations } = opened()
  const [guessed, denied, late] = ['a', 'b', 'c'].map((text) => confirmations.request(text, asker).confirmation_id) as [
    string,
    string,
    string,
  ]
  const code = codeOf(confirmations, guessed)
  for (const reason of ['forbidden', 'forbidden', 'not_found'])
    t.throws(() => confirmations.check(guessed, 'AAA-AAA', 'a'), { code: reason })
  t.throws(() => confirmations.check(guessed, code, 'a'), { code: 'not_found' })
  confirmations.deny(denied)
  t.throws(() => confirmations.deny(denied), { code: 'not_found' })
  const last = codeOf(confirmations, late)
  await clock.advance(120_000)
  t.throws(() => confirmations.check(late, last, 'a'), { code: 'not_found' })
  t.same(confirmations.list('b'), [])
})

test('few wait at once, and a key that guesses has few guesses in a day', async (t) => {
  const { clock, confirmations } = opened()
  for (let i = 0; i < 10; i++) confirmations.request(`call ${i}`, asker)
  t.same(
    confirmations.list('b').map(({ text }) => text),
    ['call 6', 'call 7', 'call 8', 'call 9'],
    'the oldest gave way',
  )
  t.throws(() => confirmations.request('call 10', asker), { code: 'overloaded' })
  for (const key_id of ['c', 'd', 'e']) for (let i = 0; i < 4; i++) confirmations.request('other', { ...asker, key_id })
  t.throws(() => confirmations.request('one more', { ...asker, key_id: 'f' }), { code: 'overloaded' })
  let guesses = 0
  for (let second = 0; second < 600; second++) {
    await clock.advance(1000)
    try {
      const { confirmation_id } = confirmations.request('guess', { ...asker, key_id: 'g' })
      for (let i = 0; i < 3; i++, guesses++) t.throws(() => confirmations.check(confirmation_id, 'AAA-AAA', 'g'))
    } catch {}
  }
  // 30 ** 6 codes: at this rate a code is guessed in years.
  t.ok(guesses <= 3 * (10 + 600 / 6), `${guesses} guesses in ten minutes`)
})
