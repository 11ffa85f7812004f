import { test } from 'tap'
import type { LabError } from '../../src/errors.ts'
import { scaled, VirtualClock } from '../../src/kit/clock.ts'
import { Exchange, type ExchangeOptions } from './exchange.ts'
import { simulatedLine } from './simulated_line.ts'

const soon = { deadline_ms: 100 }

type Responder = (question: string, send: (text: string) => void, clock: VirtualClock) => void

/** An instrument that answers each line as the test says; `pace` of its seconds go by in one. `say` makes it speak by itself. */
async function bench(answer: Responder, options: Partial<ExchangeOptions<string, string>> = {}, pace = 1) {
  const clock = new VirtualClock()
  const heard: string[] = []
  let say: (text: string) => void = () => {}
  const line = simulatedLine({
    clock: scaled(clock, pace),
    wire: clock,
    serial: { baud: 115_200 },
    settings: {},
    simulate({ send }) {
      say = (text) => send(Buffer.from(text, 'latin1'))
      return {
        receive(bytes) {
          const question = Buffer.from(bytes).toString('latin1').trim()
          heard.push(question)
          answer(question, say, clock)
        },
        setFault: () => false,
        powerOff() {},
        world: { moving: false, heating: false },
      }
    },
  })
  const exchange = new Exchange<string, string>(line, {
    framer(buffer) {
      const end = buffer.indexOf(0x0a)
      if (end < 0) return undefined
      return end === 0 ? { used: 1 } : { used: end + 1, frame: buffer.toString('latin1', 0, end) }
    },
    encode: (question) => Buffer.from(`${question}\n`, 'latin1'),
    gap_ms: 20,
    resync: { question: 'where', recognises: (frame) => frame === 'here' },
    ...options,
  })
  const written: { at: number; text: string }[] = []
  line.onWire((direction, bytes) => {
    if (direction === 'to_device') written.push({ at: clock.now(), text: Buffer.from(bytes).toString('latin1').trim() })
  })
  await line.open()
  const texts = () => written.map(({ text }) => text)
  return { clock, line, exchange, say, heard, written, texts, run: <T>(promise: Promise<T>) => clock.run(promise) }
}

/** Answers `where` with `here`, and any other `x` with `ok x`. */
function echo(question: string, send: (text: string) => void) {
  send(question === 'where' ? 'here\n' : `ok ${question}\n`)
}

/** Says only where it is. */
function mute(question: string, send: (text: string) => void) {
  if (question === 'where') send('here\n')
}

test('questions go out one at a time, in the order they were asked', async (t) => {
  const { exchange, texts, run, clock } = await bench((question, send, clock) => clock.after(50, () => echo(question, send)))
  const answers = Promise.all([exchange.query('a', soon), exchange.command('b', soon), exchange.query('c', soon)])
  await clock.advance(40)
  t.same(texts(), ['a'])
  t.same(await run(answers), ['ok a', 'ok b', 'ok c'])
  t.same(texts(), ['a', 'b', 'c'])
})

test('where time is fast silence is short, and long enough for an answer that the timers hold up', async (t) => {
  const late: Responder = (question, send, clock) => question === 'late' && clock.after(5, () => send('ok\n'))
  const { exchange, run, clock } = await bench(late, {}, 1000)
  const ask = { deadline_ms: 150, isLikelySilent: true }
  t.equal(await run(exchange.probe('late', ask)), 'ok')
  const before = clock.now()
  t.equal(await run(exchange.probe('nobody', ask)), undefined)
  t.ok(clock.now() - before < 50, 'shorter than 150 ms, or even the 60 ms of a line that falls quiet')
})

test('there is silence between an answer and the next question', async (t) => {
  const { exchange, written, run, line } = await bench(echo)
  let answered = 0
  const { clock } = line
  line.onWire((direction) => {
    if (direction === 'to_host') answered = clock.now()
  })
  await run(exchange.query('a', soon))
  const first = answered
  await run(Promise.all([exchange.tell('b'), exchange.tell('c')]))
  t.ok(written[1]!.at - first > 19.999, `${written[1]!.at - first}`)
  t.ok(written[2]!.at - written[1]!.at > 19.999)
})

test('a command is never asked twice, a query twice at most', async (t) => {
  const { exchange, texts, run, line } = await bench(mute)
  await t.rejects(run(exchange.command('go', soon)), { code: 'no_reply' })
  t.same(texts(), ['go'])
  await t.rejects(run(exchange.query('how', soon)), { code: 'no_reply' })
  t.same(texts(), ['go', 'where', 'how', 'where', 'how'])
  line.setFault('no_reply')
  await t.rejects(run(exchange.command('go', soon)), { code: 'no_reply' })
  t.same(texts().slice(5), ['where', 'where', 'where'])
})

test('a query that was not answered the first time is answered the second', async (t) => {
  let asked = 0
  const { exchange, run } = await bench((question, send) => {
    if (question === 'where') send('here\n')
    else if (++asked === 2) send('ok\n')
  })
  t.equal(await run(exchange.query('how', soon)), 'ok')
})

test('a late answer is not taken for the answer to the next question', async (t) => {
  const { exchange, run } = await bench((question, send, clock) => clock.after(question === 'slow' ? 130 : 1, () => echo(question, send)))
  await t.rejects(run(exchange.command('slow', soon)), { code: 'no_reply' })
  t.equal(await run(exchange.command('next', soon)), 'ok next')
  t.equal(exchange.dropped, 1)
})

test('an instrument that answers everything too late never gives one answer for another', async (t) => {
  // That to `where` too: later than the exchange waits for it before it asks again.
  const { exchange, run, texts } = await bench((question, send, clock) => clock.after(700, () => echo(question, send)))
  await t.rejects(run(exchange.command('a', soon)), { code: 'no_reply' })
  t.equal(await run(exchange.command('b', { deadline_ms: 1000 })), 'ok b')
  t.same(texts(), ['a', 'where', 'where', 'b'])
})

test('an answer that comes twice answers once', async (t) => {
  const { exchange, run } = await bench((question, send) => {
    send(`ok ${question}\n`)
    send(`ok ${question}\n`)
  })
  t.same(await run(Promise.all([exchange.query('a', soon), exchange.query('b', soon)])), ['ok a', 'ok b'])
  t.equal(exchange.dropped, 1)
})

test('what cannot be the answer is dropped and counted', async (t) => {
  const { exchange, run } = await bench((_question, send) => send('\n\nnoise\nok\n'))
  t.equal(await run(exchange.query('a', { ...soon, accepts: (frame) => frame === 'ok' })), 'ok')
  t.equal(exchange.dropped, 3)
})

test('what comes unasked is handed over, and answers nothing', async (t) => {
  const told: string[] = []
  const unsolicited = (frame: string) => frame.startsWith('T') && told.push(frame) > 0
  const { exchange, run } = await bench((_question, send) => send('T1\nok\nT2\n'), { unsolicited })
  t.equal(await run(exchange.query('a', soon)), 'ok')
  await run(exchange.tell('b'))
  t.match(told, ['T1', 'T2'])
  t.equal(exchange.dropped, 0)
})

test('without a question to ask, the line is found again by listening, and nothing is written for that', async (t) => {
  const { exchange, run, texts, clock, say } = await bench(mute, {
    unsolicited: (frame: string) => frame === 'T',
    resync: { recognises: (frame: string) => frame === 'T', deadline_ms: 500 },
  })
  await t.rejects(run(exchange.command('a', soon)), { code: 'no_reply' })
  await t.rejects(run(exchange.command('b', soon)), { code: 'no_reply' })
  t.same(texts(), ['a'])
  const asking = exchange.command('c', soon)
  await clock.advance(100)
  t.same(texts(), ['a'])
  say('T\n')
  await t.rejects(run(asking), { code: 'no_reply' })
  t.same(texts(), ['a', 'c'])
  t.equal(exchange.dropped, 0)
})

test('more than 4 KiB without an end of frame fail the question, and memory stays flat', async (t) => {
  let most = 0
  const { exchange, run } = await bench(
    (_question, send) => {
      for (let i = 0; i < 100; i++) send('x'.repeat(1000))
    },
    {
      framer(buffer) {
        most = Math.max(most, buffer.length)
        return undefined
      },
    },
  )
  await t.rejects(run(exchange.query('a', { deadline_ms: 10_000 })), { code: 'device_failed', message: /4 KiB/ })
  await run(exchange.tell('b'))
  t.ok(most > 4096 && most <= 4096 + 5, `${most}`)
})

test('an interrupt is on the wire when it returns, and all who wait are told that they were stopped', async (t) => {
  const { exchange, run, texts, clock } = await bench(mute)
  const ends = codes(['a', 'b', 'c'].map((question) => exchange.command(question, soon)))
  await clock.advance(5)
  exchange.interrupt('stop')
  t.same(texts(), ['a', 'stop'])
  const before = clock.now()
  t.same(await run(ends), ['stopped', 'stopped', 'stopped'])
  t.equal(clock.now(), before)
  await clock.advance(10_000)
  t.same(texts(), ['a', 'stop'])
})

test('an interrupt also ends a question that waits for silence', async (t) => {
  const { exchange, run, texts, clock } = await bench(echo)
  await run(exchange.query('a', soon))
  const ends = codes([exchange.command('b', soon), exchange.tell('c')])
  await Promise.resolve()
  exchange.interrupt('stop')
  const before = clock.now()
  t.same(await run(ends), ['stopped', 'stopped'])
  t.equal(clock.now(), before)
  t.same(texts(), ['a', 'stop'])
})

test('an interrupt between the last answer and the next question lets that question never out', async (t) => {
  const { exchange, run, texts, clock } = await bench(echo, { gap_ms: 0 })
  // Turns of the microtask queue: whichever of them the stop takes, nothing may be written after it.
  for (let turns = 0; turns < 12; turns++) {
    const before = texts().length
    const asking = exchange.command('go', soon).catch((error: LabError) => error)
    for (let turn = 0; turn < turns; turn++) await Promise.resolve()
    exchange.interrupt('stop')
    await run(asking)
    await clock.advance(1000)
    t.equal(texts().slice(before).at(-1), 'stop', `after ${turns} turns`)
    await run(exchange.query('how', soon))
  }
})

test('after an interrupt the line is found again before anything is asked', async (t) => {
  const { exchange, run, texts } = await bench(echo)
  exchange.interrupt('stop')
  t.equal(await run(exchange.query('a', soon)), 'ok a')
  t.same(texts(), ['stop', 'where', 'a'])
})

test('an interrupt that cannot be written says so, and ends all the same what waits', async (t) => {
  const { exchange, run, line } = await bench(mute)
  const ends = codes([exchange.command('a', soon)])
  await line.close()
  t.throws(() => exchange.interrupt('stop'), { code: 'stop_not_sent' })
  t.same(await run(ends), ['stopped'])
})

test('a lost line ends all who wait, and nothing of theirs is delivered when it is back', async (t) => {
  const { exchange, run, line, heard, clock } = await bench(mute)
  const ends = codes(['a', 'b'].map((question) => exchange.command(question, soon)))
  await clock.advance(0)
  line.setFault('unplug')
  t.same(await run(ends), ['disconnected', 'disconnected'])
  line.clearFaults()
  await line.open()
  await clock.advance(10_000)
  t.same(heard, [])
  await t.rejects(run(exchange.command('c', soon)), { code: 'no_reply' })
  t.same(heard, ['where', 'c'])
})

test('a closed line is said to be disconnected', async (t) => {
  const { exchange, run, line } = await bench(echo)
  await line.close()
  await t.rejects(run(exchange.query('a', soon)), { code: 'disconnected' })
})

test('only so many may wait', async (t) => {
  const { exchange, run } = await bench(echo)
  const waiting = Array.from({ length: 64 }, () => exchange.query('a', soon))
  await t.rejects(exchange.query('b', soon), { code: 'overloaded' })
  await run(Promise.all(waiting))
})

test('on a simulated line a short frame does not overtake a long one', async (t) => {
  const { line, heard, clock } = await bench(mute)
  line.write(Buffer.from('a long question\n'))
  line.write(Buffer.from('b\n'))
  await clock.advance(100)
  t.same(heard, ['a long question', 'b'])
})

test('what an instrument said late is not delivered to a line that was opened since', async (t) => {
  const { exchange, run, line, clock } = await bench(echo)
  line.setFault('late_reply')
  await t.rejects(run(exchange.command('a', soon)), { code: 'no_reply' })
  await line.close()
  line.clearFaults()
  await line.open()
  await clock.advance(10_000)
  t.equal(exchange.dropped, 0)
})

/** How each of them was refused; undefined for one that was not. */
function codes(waiting: Promise<unknown>[]): Promise<unknown[]> {
  return Promise.all(waiting.map((one) => one.then(() => undefined).catch((error: LabError) => error.code)))
}

test('a stop is acknowledged by its own answer, not by that of the question it cut off', async (t) => {
  const { exchange, run, clock } = await bench((question, send, clock) => {
    clock.after(question === 'slow' ? 100 : 300, () => send('ok\n'))
  })
  const isOk = (frame: string) => frame === 'ok'
  const slow = exchange.command('slow', { deadline_ms: 1000, accepts: isOk })
  const told = t.rejects(slow, { code: 'stopped' })
  await clock.advance(50)
  const began = clock.now()
  t.equal(await run(exchange.interruptFor('stop', { deadline_ms: 1000, accepts: isOk })), 'ok')
  t.ok(clock.now() - began >= 300)
  await told
})

test('a stop that nobody acknowledges says so', async (t) => {
  const { exchange, run } = await bench(mute)
  await t.rejects(run(exchange.interruptFor('stop', { deadline_ms: 300 })), { code: 'no_reply' })
})

test('an answer that came while the computer was busy counts, though its deadline rings before it is read', async (t) => {
  const line = simulatedLine({
    serial: { baud: 115_200 },
    settings: {},
    simulate: ({ send }) => ({
      receive() {
        setImmediate(() => send(Buffer.from('ok\n')))
        busy(200)
      },
      setFault: () => false,
      powerOff() {},
      world: { moving: false, heating: false },
    }),
  })
  const exchange = new Exchange<string, string>(line, {
    framer: (buffer) => (buffer.includes('\n') ? { used: buffer.length, frame: buffer.toString().trim() } : undefined),
    encode: (question) => Buffer.from(`${question}\n`),
    gap_ms: 0,
    resync: { question: 'where', recognises: () => true },
  })
  await line.open()
  t.equal(await exchange.command('heat', { deadline_ms: 20 }), 'ok')
  await line.close()
})

/** Keeps the computer busy: nothing is read and no timer rings meanwhile. */
function busy(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}
