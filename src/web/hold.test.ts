import { test } from 'tap'
import { VirtualClock } from '../kit/clock.ts'
import { Hold, NoAnswer } from './hold.ts'

type Request = { what: string; at: number; signal: AbortSignal; answer(value?: string): void; fail(error: unknown): void }

/** A hold whose service answers when a test says so, or at once as `service` says. */
function setUp(service: (request: Request) => void = () => {}) {
  const clock = new VirtualClock()
  const requests: Request[] = []
  const over: unknown[] = []
  const send = (what: string, signal: AbortSignal) =>
    new Promise<string>((resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason))
      const request = { what, at: clock.now(), signal, answer: (value = 'op-1') => resolve(value), fail: reject }
      requests.push(request)
      service(request)
    })
  const hold = new Hold({
    clock: { after: (ms, call) => clock.after(ms, call) },
    requests: {
      begin: (signal) => send('begin', signal),
      renew: (id, signal) => send(`renew ${id}`, signal),
      end: (id, signal) => send(`end ${id}`, signal),
    },
    every_ms: 100,
    onBegun: () => {},
    onOver: (error) => over.push(error),
  })
  const sent = () => requests.map(({ what }) => what)
  return { clock, requests, hold, over, sent }
}

const answers = (request: Request) => request.answer()

test('a hold is begun once, renewed every 100 ms, and ended in the turn in which it is let go', async (t) => {
  const { clock, requests, hold, over, sent } = setUp(answers)
  t.same(sent(), ['begin'], 'sent before it returns')
  await clock.advance(250)
  t.same(
    requests.slice(1).map(({ what, at }) => [what, at - requests[0]!.at]),
    [0, 100, 200].map((at) => ['renew op-1', at]),
  )
  hold.release()
  hold.release()
  t.equal(sent().at(-1), 'end op-1')
  await clock.advance(10_000)
  t.equal(sent().filter((what) => what.startsWith('end')).length, 1, 'ended once')
  t.equal(requests.length, 5, 'nothing is renewed any more')
  t.same(over, [undefined])
  t.equal(clock.timers, 0)
})

test('a renewal whose answer is late is not sent twice, and the next follows its answer', async (t) => {
  const { clock, requests, hold, sent } = setUp((request) => request.what === 'begin' && request.answer())
  await clock.advance(130)
  t.same(sent(), ['begin', 'renew op-1'])
  requests[1]!.answer()
  await clock.advance(1)
  t.same(sent(), ['begin', 'renew op-1', 'renew op-1'])
  hold.release()
  t.ok(requests[2]!.signal.aborted, 'the renewal on its way gives its connection back')
  requests.at(-1)!.answer()
  await clock.advance(1)
  t.equal(clock.timers, 0)
})

test('a button that is let go before the answer to the begin ends the operation as soon as it has its id', async (t) => {
  const { clock, requests, hold, over, sent } = setUp((request) => request.what !== 'begin' && request.answer())
  hold.release()
  t.same(sent(), ['begin'])
  t.same(over, [])
  requests[0]!.answer()
  await clock.advance(1)
  t.same(sent(), ['begin', 'end op-1'])
  t.same(over, [undefined])
  t.equal(clock.timers, 0)
})

test('a refused begin is told, unless the button was let go before', async (t) => {
  for (const isReleased of [false, true]) {
    const { clock, requests, hold, over, sent } = setUp()
    if (isReleased) hold.release()
    const refused = new Error('busy')
    requests[0]!.fail(refused)
    await clock.advance(1)
    t.same(over, [isReleased ? undefined : refused])
    t.same(sent(), ['begin'])
    t.equal(clock.timers, 0)
  }
})

test('a refused renewal ends the hold, and says why', async (t) => {
  const refused = new Error('it has ended')
  const { clock, over, sent } = setUp((request) => (request.what.startsWith('renew') ? request.fail(refused) : request.answer()))
  await clock.advance(500)
  t.same(sent(), ['begin', 'renew op-1', 'end op-1'])
  t.equal(over[0], refused)
  t.equal(over.length, 1)
  t.equal(clock.timers, 0)
})

test('a service that is silent takes no connection for longer than a second', async (t) => {
  const silent = setUp()
  await silent.clock.advance(1000)
  t.ok(silent.requests[0]!.signal.aborted)
  t.ok(silent.over[0] instanceof NoAnswer)
  const cut = setUp((request) => request.what === 'begin' && request.answer())
  await cut.clock.advance(1000)
  t.same(cut.sent(), ['begin', 'renew op-1', 'end op-1'])
  await cut.clock.advance(1000)
  t.ok(cut.requests.every(({ what, signal }) => what === 'begin' || signal.aborted))
  t.ok(cut.over[0] instanceof NoAnswer)
  t.equal(cut.clock.timers, 0)
})
