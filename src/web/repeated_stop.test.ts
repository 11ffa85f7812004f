import { test } from 'tap'
import { VirtualClock } from '../kit/clock.ts'
import { RepeatedStop, type Stop, type StopAnswer } from './repeated_stop.ts'

const confirmed: StopAnswer = { isConfirmed: true, isFinal: true, text: '' }
const refused: StopAnswer = { isConfirmed: false, isFinal: true, text: 'the service answered 401' }
const starting: StopAnswer = { isConfirmed: false, isFinal: false, text: 'the service answered 503' }

type Request = { at: number; signal: AbortSignal; answer(answer: StopAnswer): void; fail(): void }

/** A page whose service answers when a test says so, or at once as `service` says. */
function setUp() {
  const clock = new VirtualClock()
  const requests: Request[] = []
  const its = { stop: undefined as Stop | undefined, sleep_ms: 0, service: (_: Request) => {} }
  const repeated = new RepeatedStop({
    clock: { now: () => clock.now(), wall: () => clock.now() + its.sleep_ms, after: (ms, call) => clock.after(ms, call) },
    send: (signal) =>
      new Promise((answer, reject) => {
        const request = { at: clock.now(), signal, answer, fail: () => reject(new TypeError('Failed to fetch')) }
        signal.addEventListener('abort', () => reject(signal.reason))
        requests.push(request)
        its.service(request)
      }),
    onChange: (stop) => {
      its.stop = stop
    },
  })
  const open = () => requests.filter(({ signal }) => !signal.aborted).length
  return { clock, requests, repeated, its, open }
}

test('a touch sends before it returns, and the answer is shown', async (t) => {
  const { clock, requests, repeated, its } = setUp()
  repeated.touch(7)
  t.equal(requests.length, 1)
  t.same(its.stop, { at: 7, tries: 1, phase: 'sent' })
  requests[0]!.answer(confirmed)
  await clock.advance(100_000)
  t.same(its.stop, { at: 7, tries: 1, phase: 'answered', answer: confirmed })
  t.equal(requests.length, 1, 'an answered stop is not repeated')
  t.equal(clock.timers, 0)
})

test('a touch sends in every phase', async (t) => {
  const { clock, requests, repeated, its } = setUp()
  const sends = (why: string) => {
    const before = requests.length
    repeated.touch(clock.now())
    t.equal(requests.length, before + 1, why)
  }
  sends('of nothing')
  requests.at(-1)!.answer(confirmed)
  await clock.advance(1)
  sends('after a confirmed stop')
  t.match(its.stop, { tries: 1, phase: 'sent' }, 'which is another stop')
  requests.at(-1)!.answer(refused)
  await clock.advance(1)
  sends('after a refused stop')
  requests.at(-1)!.fail()
  await clock.advance(1)
  t.equal(its.stop?.phase, 'repeated')
  sends('in a pause between two requests')
  t.match(its.stop, { tries: 2 }, 'which belongs to the stop that is repeated')
  repeated.ask(3)
  sends('while the page asks')
  t.match(its.stop, { at: clock.now(), tries: 1, phase: 'sent' })
  repeated.end()
  sends('after it was withdrawn')
})

test('continuing after an answer ends no stop that was touched since', async (t) => {
  const { clock, requests, repeated, its } = setUp()
  repeated.touch(1)
  requests[0]!.answer(confirmed)
  await clock.advance(1)
  const shown = its.stop!
  repeated.touch(2)
  repeated.end(shown)
  t.match(its.stop, { at: 2, phase: 'sent' })
  t.notOk(requests[1]!.signal.aborted)
  requests[1]!.answer(confirmed)
  await clock.advance(1)
  repeated.end(shown)
  t.match(its.stop, { at: 2, phase: 'answered' })
  repeated.end(its.stop)
  t.equal(its.stop, undefined)
})

test('a stop without an answer is repeated with growing pauses, one request at a time, until any answer', async (t) => {
  for (const last of [confirmed, refused]) {
    const { clock, requests, repeated, its, open } = setUp()
    its.service = ({ fail }) => {
      t.equal(open(), 1)
      fail()
    }
    repeated.touch(5)
    await clock.advance(15_000)
    t.same(
      requests.map(({ at }) => at),
      [0, 500, 1500, 3500, 7500, 11_500],
    )
    t.same(its.stop, { at: 5, tries: 6, phase: 'repeated' })
    its.service = ({ answer }) => answer(last)
    await clock.advance(60_000)
    t.same(its.stop, { at: 5, tries: 7, phase: 'answered', answer: last })
    t.equal(requests.length, 7)
  }
})

test('a service that starts is asked again, and its answer is shown meanwhile', async (t) => {
  const { clock, requests, repeated, its } = setUp()
  its.service = ({ answer }) => answer(starting)
  repeated.touch(0)
  await clock.advance(400)
  t.match(its.stop, { phase: 'repeated', answer: starting })
  its.service = () => {}
  await clock.advance(100)
  t.match(its.stop, { tries: 2, phase: 'repeated', answer: starting })
  requests[1]!.fail()
  await clock.advance(1)
  t.equal(its.stop?.answer, undefined, 'there was no answer since')
  its.service = ({ answer }) => answer(confirmed)
  await clock.advance(4000)
  t.match(its.stop, { phase: 'answered', answer: confirmed })
})

test('a request that hangs is given up, and its late answer counts no more', async (t) => {
  const { clock, requests, repeated, its, open } = setUp()
  repeated.touch(0)
  await clock.advance(1999)
  t.equal(its.stop?.phase, 'sent')
  t.equal(open(), 1)
  await clock.advance(1)
  t.equal(its.stop?.phase, 'repeated')
  t.equal(open(), 0)
  await clock.advance(18_500)
  t.same(
    requests.map(({ at }) => at),
    [0, 2500, 7500, 17_500],
    'slow networks are given more time',
  )
  t.equal(open(), 1)
  requests[0]!.answer(confirmed)
  await clock.advance(0)
  t.equal(its.stop?.phase, 'repeated')
})

test('of touches while a request is on its way, one more is sent when it is answered', async (t) => {
  const { clock, requests, repeated, its, open } = setUp()
  repeated.touch(1)
  for (const at of [2, 3, 4]) {
    await clock.advance(100)
    repeated.touch(at)
  }
  t.equal(requests.length, 1)
  requests[0]!.answer(confirmed)
  await clock.advance(0)
  t.equal(requests.length, 2)
  t.equal(open(), 1)
  t.same(its.stop, { at: 4, tries: 1, phase: 'sent' }, 'the answer is not that of the last touch')
  requests[1]!.answer(confirmed)
  await clock.advance(60_000)
  t.equal(requests.length, 2)
  t.match(its.stop, { phase: 'answered' })
})

test('a touch waits for a request that hangs one second at most, however often somebody touches', async (t) => {
  const { clock, requests, repeated, its, open } = setUp()
  repeated.touch(1)
  await clock.advance(300)
  repeated.touch(2)
  await clock.advance(699)
  t.equal(requests.length, 1)
  await clock.advance(1)
  t.equal(requests.length, 2)
  t.equal(open(), 1)
  t.match(its.stop, { at: 1, tries: 2, phase: 'repeated' })
  await clock.advance(3000)
  repeated.touch(3)
  await clock.advance(0)
  t.equal(requests.length, 3, 'one that is older is given up at once')
  for (let i = 0; i < 100; i++) {
    repeated.touch(4)
    await clock.advance(100)
  }
  t.ok(requests.length >= 12 && requests.length <= 14, `${requests.length} requests`)
  t.equal(open(), 1)
})

test('a request that fails at once is followed by the one of a touch at once', async (t) => {
  const { clock, requests, repeated } = setUp()
  repeated.touch(1)
  repeated.touch(2)
  requests[0]!.fail()
  await clock.advance(0)
  t.equal(requests.length, 2)
})

test('a page that did not run for a minute asks before it sends a stop again', async (t) => {
  const sleeps = {
    'in a pause': async ({ clock, requests }: ReturnType<typeof setUp>) => {
      requests[0]!.fail()
      await clock.advance(1)
    },
    'while a request is on its way': async () => {},
    'with a touch behind a request': async ({ repeated }: ReturnType<typeof setUp>) => repeated.touch(6),
  }
  for (const [when, before] of Object.entries(sleeps)) {
    const all = setUp()
    const { clock, requests, repeated, its } = all
    repeated.touch(5)
    await before(all)
    its.sleep_ms = 60_000
    await clock.advance(300_000)
    t.same(its.stop, { at: 5, tries: 1, phase: 'asks' }, when)
    t.equal(requests.length, 1, when)
    t.equal(clock.timers, 0)
    repeated.touch(9)
    t.equal(requests.length, 2)
    t.same(its.stop, { at: 9, tries: 1, phase: 'sent' })
  }
})

test('a touch after such a sleep is sent, also while a request from before hangs or is answered', async (t) => {
  const { clock, requests, repeated, its } = setUp()
  repeated.touch(5)
  its.sleep_ms = 3_600_000
  repeated.touch(6)
  await clock.advance(1000)
  t.equal(requests.length, 2)
  t.equal(its.stop?.phase, 'repeated')
  its.sleep_ms = 7_200_000
  requests[1]!.answer(confirmed)
  await clock.advance(0)
  t.equal(its.stop?.phase, 'answered', 'an answer is an answer, whenever it comes')
})

test('a touch from before a sleep is asked for, though the request before it was answered', async (t) => {
  const { clock, requests, repeated, its } = setUp()
  repeated.touch(5)
  repeated.touch(6)
  its.sleep_ms = 60_000
  requests[0]!.answer(confirmed)
  await clock.advance(0)
  t.same(its.stop, { at: 6, tries: 0, phase: 'asks' })
  t.equal(requests.length, 1)
})

test('a sleep of less than a minute, and a wall clock that is set back, end no repetition', async (t) => {
  for (const sleep_ms of [40_000, -3_600_000]) {
    const { clock, requests, repeated, its } = setUp()
    its.service = ({ fail }) => fail()
    repeated.touch(5)
    its.sleep_ms = sleep_ms
    await clock.advance(60_000)
    t.equal(its.stop?.phase, 'repeated')
    t.ok(requests.length > 10)
  }
})

test('a stop that is withdrawn is sent no more', async (t) => {
  const { clock, requests, repeated, its, open } = setUp()
  repeated.touch(1)
  repeated.touch(2)
  repeated.end()
  t.equal(its.stop, undefined)
  t.equal(open(), 0)
  await clock.advance(100_000)
  t.equal(requests.length, 1)
  t.equal(clock.timers, 0)
})

test('a stop of an earlier visit is asked for, and not sent', async (t) => {
  const { clock, requests, repeated, its } = setUp()
  repeated.ask(4)
  await clock.advance(100_000)
  t.same(its.stop, { at: 4, tries: 0, phase: 'asks' })
  t.equal(requests.length, 0)
})
