import { test } from 'tap'
import { BenchError, type StopAllResult } from '../clients/ts/benchd.ts'
import type { Stop } from './repeated_stop.ts'
import { atWork, noStopWords, refusedStop, stopSentence, takenStop, triesWords } from './stop_words.ts'

const stop = (more: Partial<Stop>): Stop => ({ at: 0, tries: 1, phase: 'sent', ...more })
const device = (device_id: string, success: boolean) => ({ device_id, success, message: '' })

test('a stop is confirmed only when the service says so of every device', (t) => {
  const all: StopAllResult = { success: true, message: 'all devices stopped', devices: [device('a', true)] }
  t.same(takenStop(all), { isConfirmed: true, isFinal: true, text: '' })
  const some = takenStop({ ...all, success: false, devices: [device('a', true), device('b', false), device('c', false)] })
  t.same(some, { isConfirmed: false, isFinal: true, text: 'stop sent to all devices, not confirmed by b, c' })
  t.equal(takenStop('<html>' as never).isConfirmed, false)
  t.match(takenStop({ success: true }), { isConfirmed: false, isFinal: false, text: /does not come from benchd/ })
  t.end()
})

test('every answer of the service that says no ends the repetition, but that of a service that starts', (t) => {
  const noKey = 'the service answered 401: it accepts no stop without a valid key'
  t.same(refusedStop(new BenchError('the header X-API-Key …', 401, 'unauthorized')), { isConfirmed: false, isFinal: true, text: noKey })
  const noPort = 'the service answered 500: shaker-1: no port'
  t.same(refusedStop(new BenchError('shaker-1: no port.', 500, 'stop_not_sent')), { isConfirmed: false, isFinal: true, text: noPort })
  t.match(refusedStop(new BenchError('no disk', 503, 'storage')), { isFinal: true })
  t.match(refusedStop(new BenchError('too many', 429, 'limit', 5)), { isFinal: true })
  t.match(refusedStop(new BenchError('starting', 503, 'starting', 1)), { isFinal: false })
  const ofProxy = { isConfirmed: false, isFinal: false, text: 'the answer does not come from benchd' }
  t.same(refusedStop(new SyntaxError('Unexpected token')), ofProxy)
  for (const status of [401, 502, 503, 504])
    t.same(refusedStop(new BenchError(`the service answered ${status}`, status, 'unknown')), ofProxy)
  t.equal(refusedStop(new TypeError('Failed to fetch')), undefined)
  t.end()
})

test('each phase says what happened, why, and what to do', (t) => {
  const words = (more: Partial<Stop>) => stopSentence(stop(more), '10:03:05')
  t.equal(words({}), 'STOP ALL was sent at 10:03:05. The service has not answered yet.')
  t.equal(
    words({ phase: 'repeated' }),
    'STOP NOT CONFIRMED: the service does not answer. Devices may still move. Use the stop buttons of the instruments.',
  )
  const answer = refusedStop(new BenchError('', 401, 'unauthorized'))!
  t.match(
    words({ phase: 'answered', answer }),
    /^STOP NOT CONFIRMED: the service answered 401: it accepts no stop without a valid key\. Devices may/,
  )
  t.match(words({ phase: 'asks' }), /^STOP ALL from 10:03:05 was not confirmed\. .* Send it now\?$/)
  t.equal(
    words({ phase: 'answered', answer: { isConfirmed: true, isFinal: true, text: '' } }),
    'Every device confirmed STOP ALL from 10:03:05.',
  )
  t.match(triesWords(stop({ tries: 1 }), '10:03:05'), /sent once since 10:03:05/)
  t.match(triesWords(stop({ tries: 4 }), '10:03:05'), /sent 4 times since 10:03:05/)
  t.end()
})

test('a device that works is named, whatever was stopped', (t) => {
  const operation = { name: 'set_temperature' } as never
  t.equal(atWork([{ device_id: 'a', state: 'stopped', operation: null }]), '')
  t.equal(
    atWork([
      { device_id: 'a', state: 'busy', operation },
      { device_id: 'b', state: 'ready', operation: null },
      { device_id: 'c', state: 'busy', operation: null },
    ]),
    'At work now: a (Set temperature), c.',
  )
  t.end()
})

test('a browser that may stop nothing says so, and where the stop is', (t) => {
  t.equal(noStopWords(true, false), undefined)
  t.match(noStopWords(false, true), /has no key, so it is not allowed to stop .* Use the stop buttons of the instruments/)
  t.match(noStopWords(true, true), /did not accept the key .* STOP ALL still sends the key/)
  t.end()
})
