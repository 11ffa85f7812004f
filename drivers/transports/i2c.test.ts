import { test } from 'tap'
import { sleep, VirtualClock } from '../../src/kit/clock.ts'
import { deferred } from '../../src/kit/deferred.ts'
import { HandClock } from '../../src/testing/hand_clock.ts'
import { I2cBus, type I2cPort, isRead, swapped, type Transfer, type Write, wireOf } from './i2c.ts'
import { RegisterChip, simulatedI2c } from './simulated_i2c.ts'

/** A bus whose transfers take a millisecond each, and fail with these numbers first. */
function bench(failures: number[] = []) {
  const clock = new VirtualClock()
  const seen: string[] = []
  let underWay = 0
  const port: I2cPort = {
    async transfer(address, transfer) {
      if (underWay++) seen.push('at once with another')
      await sleep(clock, 1)
      underWay--
      seen.push(words(address, transfer))
      const errno = failures.shift()
      if (errno) throw Object.assign(new Error('it failed'), { errno })
      return new Uint8Array(wireOf(transfer).length).fill(0x12)
    },
    writeNow(address, write) {
      seen.push(`now ${words(address, write)}`)
    },
    close: async () => void seen.push('closed'),
  }
  const bus = new I2cBus('I2C bus 1', async () => port, clock)
  return { bus, clock, seen, part: bus.device(0x48) }
}

function words(address: number, transfer: Transfer): string {
  return `${isRead(transfer) ? 'read' : 'write'} ${address.toString(16)} ${Buffer.from(wireOf(transfer).written).toString('hex')}`
}

test('a read is tried three times, a write once', async (t) => {
  const { part, clock, seen } = bench([121, 121, 0, 121])
  t.equal(await clock.run(part.readWord(0)), 0x1212)
  await t.rejects(clock.run(part.writeByte(1, 2)), { code: 'no_reply' })
  t.same(seen, ['read 48 00', 'read 48 00', 'read 48 00', 'write 48 0102'])
})

test('a bus whose adapter was unplugged is opened anew', async (t) => {
  const { part, clock, seen } = bench([19])
  await t.rejects(clock.run(part.readWord(0)), {
    code: 'disconnected',
    message: /the bus of 0x48 on I2C bus 1 is gone; see that its adapter/,
  })
  t.equal(await clock.run(part.readWord(0)), 0x1212)
  t.same(seen, ['read 48 00', 'closed', 'read 48 00'])
  const stopped = bench([19])
  await t.rejects(stopped.clock.run(stopped.part.readWord(0)), { code: 'disconnected' })
  const off = () => stopped.part.writeNow(() => ({ verb: 'write_byte', register: 1, value: 0 }))
  t.throws(off, { code: 'stop_not_sent' })
  await stopped.clock.advance(1)
  await stopped.clock.run(off())
  t.equal(stopped.seen.at(-1), 'now write 48 0100', 'a stop that is repeated goes out though nobody else asks for the bus')
})

test('a part that does not answer keeps no other on its bus from answering', async (t) => {
  const clock = new VirtualClock()
  const { bus, put } = simulatedI2c(1, clock)
  put(0x49, new RegisterChip({ 0: 0x34, 1: 0x12 }))
  const [gone, there] = [bus.device(0x48), bus.device(0x49)]
  const asked = [gone.readWord(0), there.readWord(0), gone.writeByte(0, 1), there.readWord(0)]
  const answers = await clock.run(Promise.allSettled(asked))
  t.match(answers, [{ reason: { code: 'no_reply' } }, { value: 0x1234 }, { reason: { code: 'no_reply' } }, { value: 0x1234 }])
})

test('what the system says by number alone becomes a sentence that helps', async (t) => {
  const sentences: [number, string, RegExp][] = [
    [121, 'no_reply', /nothing answers at 0x48 on I2C bus 1; see its power/],
    [6, 'no_reply', /nothing answers/],
    [110, 'no_reply', /held the bus too long/],
    [16, 'device_failed', /a driver of the kernel has 0x48/],
    [2, 'disconnected', /there is no bus/],
    [13, 'disconnected', /group i2c/],
    [95, 'device_failed', /SMBus alone/],
    [5, 'device_failed', /it failed/],
  ]
  for (const [errno, code, message] of sentences) {
    const { part, clock } = bench([errno, errno, errno])
    await t.rejects(clock.run(part.receiveByte()), { code, message }, `${errno}`)
    // What the file system says has its number with a minus.
    const { part: other, clock: time } = bench([-errno])
    await t.rejects(time.run(other.sendByte(1)), { code, message }, `${-errno}`)
  }
})

test('a transfer that ends while the computer stands still is none that took too long', async (t) => {
  const clock = new HandClock()
  const { promise: ended, resolve: end } = deferred<Uint8Array>()
  const port = { transfer: () => ended, writeNow() {}, close: async () => {} }
  const reading = new I2cBus('I2C bus 1', async () => port, clock).device(0x48).receiveByte()
  clock.stall(60_000)
  clock.ring()
  end(Uint8Array.of(0x12))
  t.equal(await reading, 0x12)
  t.equal(clock.timers, 0)
})

test('there is one transfer at a time, and nothing comes between those that belong together', async (t) => {
  const { bus, part, clock, seen } = bench()
  const other = bus.device(0x20)
  await clock.run(
    Promise.all([
      part.together(async (part) => {
        await part.write({ verb: 'send_byte', value: 1 })
        await part.write({ verb: 'send_byte', value: 2 })
      }),
      other.sendByte(9),
      part.sendByte(3),
    ]),
  )
  t.same(seen, ['write 48 01', 'write 48 02', 'write 20 09', 'write 48 03'])
})

test('a write for a stop is done when it returns, and once more, as it is then, after what was under way', async (t) => {
  const { part, clock, seen } = bench()
  await clock.run(part.sendByte(0))
  const under = part.sendByte(0xff)
  const waiting = part.sendByte(0xee)
  await clock.advance(0.5)
  let value = 1
  const again = part.writeNow((): Write => ({ verb: 'send_byte', value }))
  t.equal(seen.at(-1), 'now write 48 01')
  value = 2
  await clock.run(Promise.all([under, waiting, again]))
  t.same(seen.slice(1), ['now write 48 01', 'write 48 ff', 'now write 48 02', 'write 48 ee'])
})

test('a bus that hangs holds nobody up for longer than two seconds, and is not used by two at once', async (t) => {
  const clock = new VirtualClock()
  let release = (_: Uint8Array) => {}
  let calls = 0
  const port: I2cPort = {
    transfer: () => {
      calls++
      return new Promise((resolve) => {
        release = resolve
      })
    },
    writeNow() {},
    close: async () => {},
  }
  const part = new I2cBus('I2C bus 1', async () => port, clock).device(0x48)
  const first = part.receiveByte()
  const second = part.receiveByte()
  await t.rejects(clock.run(first), { code: 'no_reply', message: /did not come to an end within 2 s/ })
  await t.rejects(clock.run(second), { code: 'no_reply' })
  t.equal(clock.now(), 2000)
  t.equal(calls, 1)
  release(Uint8Array.of(7))
  await clock.advance(1)
  t.equal(calls, 2)
})

test('a bus that could not be opened is tried again', async (t) => {
  const { bus } = bench()
  let tries = 0
  const shy = new I2cBus('I2C bus 7', async () => {
    if (tries++ === 0) throw new Error('not yet')
    return { transfer: async () => Uint8Array.of(5), writeNow() {}, close: async () => {} }
  })
  await t.rejects(shy.open(), { message: 'not yet' })
  t.throws(() => shy.device(1).writeNow(() => ({ verb: 'send_byte', value: 0 })), { code: 'stop_not_sent' })
  t.equal(await shy.device(1).receiveByte(), 5)
  await bus.close()
})

test('a word has its low byte first on the wire', (t) => {
  t.same([...wireOf({ verb: 'write_word', register: 1, value: 0x1234 }).written], [1, 0x34, 0x12])
  t.equal(swapped(0x1234), 0x3412)
  t.end()
})
