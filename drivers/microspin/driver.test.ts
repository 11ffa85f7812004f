import { type Test, test } from 'tap'
import { tampered } from '../../src/conformance/tampered.ts'
import { calm, onSimulator } from '../../src/testing/drivers.ts'
import { driver } from './driver.ts'

async function bench(settings: object = {}) {
  const { driver: same, hand } = tampered(driver)
  const made = await onSimulator(same, settings)
  await made.run(made.device.initialize({}, calm))
  made.written.length = 0
  return { ...made, hand }
}

function begun<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined)
  return promise
}

const run = { g: 500, duration: 60 }

test('it spins as its settings say, presents a bucket, and closes by finding home', async (t) => {
  const { device, line, run: until, written } = await bench({ acceleration: 80, deceleration: 40, bucket: 2 })
  await until(device.open!({}, calm))
  t.match(line.simulator.world, { door: 'open', bucket: 2 })
  await until(device.close!({}, calm))
  t.match(line.simulator.world, { door: 'closed', bucket: null })
  await until(device.centrifuge!(run, calm))
  const motions = written.filter((frame) => !/^(hss|status)/.test(frame))
  t.same(motions, ['open 2\r\n', 'home\r\n', 'spin 500 80 40 60\r\n'])
  line.simulator.powerOff()
})

test('the stop goes over both connections, past the run that the first one waits for', async (t) => {
  const { device, line, run: until, written, clock } = await bench()
  const spinning = begun(device.centrifuge!(run, calm))
  await clock.advance(20_000)
  written.length = 0
  const halting = device.halt()
  t.same(written, ['abort\r\n', 'abort\r\n'])
  await until(halting)
  await t.rejects(until(spinning), { code: 'stopped' })
  t.equal(line.simulator.world.moving, true, 'it slows down')
  await t.rejects(until(device.initialize({}, calm)), { code: 'interlock', message: /it moves/ })
  await clock.advance(60_000)
  t.equal(line.simulator.world.moving, false)
  await t.rejects(until(device.centrifuge!(run, calm)), { message: /was stopped at its front panel/ }, 'it is latched')
  await until(device.initialize({}, calm))
  await until(device.centrifuge!(run, calm))
  line.simulator.powerOff()
})

test('a stop that the instrument refuses is confirmed only if the rotor stands', async (t) => {
  const { device, line, run: until, hand, clock } = await bench()
  hand.replace(/^.*OK! abort (\d+)/s, 'Error 1: (00:00:01) -12: nothing to abort\r\nERROR! abort $1')
  await until(device.halt())
  t.equal(line.simulator.world.latched, true)
  await until(device.initialize({}, calm))
  begun(device.centrifuge!(run, calm))
  await clock.advance(20_000)
  hand.hear((frame) => !frame.startsWith('abort'))
  const halting = begun(device.halt())
  hand.say(Buffer.from('ACK! abort 900\r\nError 1: (00:00:01) -12: nothing to abort\r\nERROR! abort 900\r\n'))
  await t.rejects(until(halting), { message: /refused|nothing to abort/ })
  line.simulator.powerOff()
})

test('what ends a run otherwise is told, with what to do', async (t) => {
  await told(t, ({ line }) => line.setFault('jam'), /error -40 \(its meaning is not known to benchd\).*It says "Spindle following error"\./)
  await told(t, ({ line }) => line.setFault('interlock_open'), /was stopped at its front panel, or by another client, .*then initialize/)
  await told(t, ({ hand }) => hand.restart(), /it has no home position, so it was restarted/)
  const early = Buffer.from('OK! spin 500 50 50 60 9\r\n')
  await told(
    t,
    ({ hand, id }) => hand.say(Buffer.from(early.toString().replace('9\r', `${id()}\r`))),
    /ended a run of 60 s after \d+ s|goes on moving/,
  )
})

type Bench = Awaited<ReturnType<typeof bench>> & { id(): string }

async function told(t: Test, happens: (bench: Bench) => unknown, message: RegExp): Promise<void> {
  const made = await bench()
  const { device, line, run: until, clock } = made
  let number = ''
  line.onWire((direction, bytes) => {
    if (direction === 'to_host') number = /ACK! spin .* (\d+)\r/.exec(Buffer.from(bytes).toString())?.[1] ?? number
  })
  const spinning = begun(device.centrifuge!(run, calm))
  await clock.advance(20_000)
  happens({ ...made, id: () => number })
  await t.rejects(until(spinning), { code: 'device_failed', message })
  line.simulator.powerOff()
}

test('a motion that is not acknowledged fails, and is not commanded again', async (t) => {
  const { device, line, run: until, hand, written } = await bench()
  hand.hear((frame) => !frame.startsWith('open'))
  await t.rejects(until(device.open!({}, calm)), { code: 'no_reply', message: /did not acknowledge open 1/ })
  t.equal(written.filter((frame) => frame.startsWith('open')).length, 1)
  line.simulator.powerOff()
})

test('a gentle brake has a longer deadline', (t) => {
  const margin = (deceleration: number) => driver.profile({ acceleration: 50, deceleration, bucket: 1 }).margin_seconds?.centrifuge
  t.same([margin(50), margin(39), margin(19)], [300, 900, 1800])
  t.end()
})

test('what is no answer is told with the address, not with a baud rate', async (t) => {
  const { device, line, run: until, hand } = await bench()
  hand.change((_bytes, send) => send(Buffer.from('SSH-2.0\r\n')))
  await t.rejects(until(device.check()), {
    code: 'no_reply',
    message: /it speaks, but not as this driver expects; see that its address and the driver/,
  })
  line.simulator.powerOff()
})
