import { execFile } from 'node:child_process'
import { chmodSync, unlinkSync } from 'node:fs'
import { promisify } from 'node:util'
import { type Test, test } from 'tap'
import { type Clock, systemClock, VirtualClock } from '../../src/kit/clock.ts'
import type { Line } from './line.ts'
import { openPty, type Pty } from './pty.ts'
import type { RealLine } from './real_line.ts'
import { serialPort } from './serial_port.ts'

const run = promisify(execFile)
const serial = { baud: 9600 }

/** A port that is open, and the pty behind it. Its clock stands still, so that a busy machine may take as long as it needs. */
async function plugged(t: Test, { link, time }: { link?: string; time?: Clock } = {}) {
  const pty = await openPty(link ? { link } : {})
  const clock = new VirtualClock()
  const line = serialPort({ path: pty.path, serial, clock: time ?? clock })
  const losses: string[] = []
  line.onLost((reason) => losses.push(reason))
  t.teardown(async () => {
    await line.close()
    await pty.close()
  })
  await line.open()
  return { pty, line, clock, losses }
}

/** The next `length` bytes that come out at one end. */
function received(end: Pty | Line, length: number): Promise<Buffer> {
  return new Promise((resolve) => {
    let all = Buffer.alloc(0)
    end.onBytes((bytes) => {
      all = Buffer.concat([all, bytes])
      if (all.length >= length) resolve(all)
    })
  })
}

function lost(line: Line): Promise<string> {
  return new Promise((resolve) => line.onLost(resolve))
}

test('every byte there is crosses in both directions, unchanged', async (t) => {
  const { pty, line } = await plugged(t)
  const bytes = Buffer.from(Array.from({ length: 256 }, (_, i) => i))
  const there = received(pty, 256)
  line.write(bytes)
  t.same(await there, bytes)
  const back = received(line, 256)
  pty.write(bytes)
  t.same(await back, bytes)
})

test('a frame larger than the buffer of the port arrives whole', async (t) => {
  const { pty, line } = await plugged(t)
  const frame = Buffer.alloc(60_000, 'frame ')
  const there = received(pty, frame.length)
  line.write(frame)
  t.ok((await there).equals(frame))
})

test('what is written is in the port before write returns', async (t) => {
  const { pty, line } = await plugged(t)
  const there = received(pty, 8)
  line.write(Buffer.from('halt'))
  line.write(Buffer.from('next'))
  await line.close()
  t.equal((await there).toString(), 'haltnext')
})

test('a line that is not open takes nothing', async (t) => {
  const { pty, line } = await plugged(t)
  const closed = serialPort({ path: pty.path, serial })
  t.throws(() => closed.write(Buffer.from('a')), { code: 'disconnected' })
  await t.rejects(closed.setBaud(57600), { code: 'disconnected' })
  await t.rejects(closed.setModem({ rts: true }), { code: 'disconnected' })
  const closing = line.close()
  t.throws(() => line.write(Buffer.from('a')), { code: 'disconnected' })
  await closing
  await line.close()
  t.equal(line.state, 'closed')
})

test('an idle port that is unplugged is lost, once, and serves again at the same path', async (t) => {
  const link = `${t.testdir()}/port`
  const { pty, line, clock, losses } = await plugged(t, { link })
  const gone = lost(line)
  await pty.close()
  await clock.advance(1000)
  t.match(await gone, link)
  t.equal(line.state, 'lost')
  t.throws(() => line.write(Buffer.from('while lost')), { code: 'disconnected' })
  await t.rejects(line.open(), { code: 'disconnected', message: /there is no/ })

  const again = await openPty({ link })
  t.teardown(() => again.close())
  const there = received(again, 5)
  await line.open()
  t.equal(line.state, 'open')
  line.write(Buffer.from('fresh'))
  t.equal((await there).toString(), 'fresh')
  const back = received(line, 5)
  again.write(Buffer.from('hello'))
  t.equal((await back).toString(), 'hello')
  await clock.advance(5000)
  t.equal(losses.length, 1)
})

test('a port that is unplugged while it sends is lost, once', async (t) => {
  const { pty, line, clock, losses } = await plugged(t)
  const flowing = received(line, 20_000)
  const flood = setInterval(() => pty.write(Buffer.alloc(2000, 'status ')), 1)
  t.teardown(() => clearInterval(flood))
  await flowing
  const gone = lost(line)
  await pty.close()
  await clock.advance(1000)
  await gone
  await line.close()
  t.equal(losses.length, 1)
})

test('a port that is found broken by a write is lost, once', async (t) => {
  const { pty, line, losses } = await plugged(t)
  await pty.close()
  t.throws(() => line.write(Buffer.from('a')), { code: 'disconnected' })
  t.equal(line.state, 'lost')
  await line.close()
  t.equal(losses.length, 1)
})

test('a port that takes no bytes is lost, and says how long it was tried', async (t) => {
  const { line, losses } = await plugged(t, { time: systemClock })
  line.onWire((direction) => t.equal(direction, 'to_host', 'what was not taken is not shown as if it had passed'))
  t.throws(() => line.write(Buffer.alloc(8_000_000)), { code: 'disconnected', message: /full for 100 ms/ })
  t.equal(line.state, 'lost')
  t.equal(losses.length, 1)
})

test('a device whose node goes away is lost, though the port still works', async (t) => {
  const { pty, line, clock } = await plugged(t, { link: `${t.testdir()}/port` })
  const gone = lost(line)
  unlinkSync(pty.path)
  await clock.advance(1000)
  t.match(await gone, /is gone$/)
  t.equal(line.state, 'lost')
})

test('a path that leads to another device is a loss of the first', async (t) => {
  const link = `${t.testdir()}/port`
  const { line, clock } = await plugged(t, { link })
  const other = await openPty({ link })
  t.teardown(() => other.close())
  const gone = lost(line)
  await clock.advance(1000)
  t.match(await gone, /is another device now$/)
  await line.open()
  const there = received(other, 5)
  line.write(Buffer.from('hello'))
  t.equal((await there).toString(), 'hello')
})

test('a port has one opener; the second is told so', async (t) => {
  const { pty, line } = await plugged(t)
  const second = serialPort({ path: pty.path, serial })
  await t.rejects(second.open(), { code: 'disconnected', message: `another program has ${pty.path} open; end that one first` })
  t.equal(second.state, 'closed')
  await line.close()
  await second.open()
  await second.close()
})

test('a port that is closed while it is being opened stays closed', async (t) => {
  const { pty, line } = await plugged(t)
  await line.close()
  const opening = t.rejects(line.open(), { code: 'disconnected', message: /was closed while it was being opened/ })
  await line.close()
  await opening
  t.equal(line.state, 'closed')
  const other = serialPort({ path: pty.path, serial })
  await other.open()
  await other.close()
})

test('opening a port that is open begins anew', async (t) => {
  const { pty, line, losses } = await plugged(t)
  await Promise.all([line.open(), line.open()])
  t.equal(line.state, 'open')
  const there = received(pty, 1)
  line.write(Buffer.from('a'))
  t.equal((await there).toString(), 'a')
  t.same(losses, [])
})

test('a port that is being read when it is given up can be opened again at once', async (t) => {
  const lines = await Promise.all(Array.from({ length: 4 }, () => plugged(t)))
  const reopened = lines.map(async ({ pty, line }) => {
    for (let i = 0; i < 250; i++) {
      pty.write(Buffer.from('more'))
      await (line as RealLine<unknown>).giveUp('it did not answer')
      await line.open()
    }
  })
  await t.resolves(Promise.all(reopened))
})

test('what came in while the port was closed is not read when it opens', async (t) => {
  const pty = await openPty()
  const line = serialPort({ path: pty.path, serial: { baud: 115_384 } })
  t.teardown(async () => {
    await line.close()
    await pty.close()
  })
  pty.write(Buffer.from('stale'))
  // When one byte of it has come, the others wait in the port.
  t.equal((await run('dd', [`if=${pty.path}`, 'bs=1', 'count=1', 'status=none'])).stdout, 's')
  await line.open()
  const back = received(line, 5)
  pty.write(Buffer.from('fresh'))
  t.equal((await back).toString(), 'fresh')
})

test('a path where nothing is, and one that is no port, are told apart', async (t) => {
  const folder = t.testdir({ file: '' })
  await t.rejects(serialPort({ path: `${folder}/none`, serial }).open(), { code: 'disconnected', message: /^there is no .*plugged in/ })
  await t.rejects(serialPort({ path: `${folder}/file`, serial }).open(), { code: 'disconnected', message: /is not a serial port/ })
})

test('whoever may not open a port is told why', async (t) => {
  const pty = await openPty()
  t.teardown(() => pty.close())
  chmodSync(pty.path, 0)
  const asRoot = process.geteuid?.() === 0
  if (asRoot) process.seteuid?.(65534)
  try {
    await t.rejects(serialPort({ path: pty.path, serial }).open(), {
      code: 'disconnected',
      message: /^the user \S+ may not open .*; its mode is 0000: give it MODE="0660", GROUP="dialout"/,
    })
  } finally {
    if (asRoot) process.seteuid?.(0)
  }
})

test('the speed can be changed, and is what it was at the next opening', async (t) => {
  const { pty, line } = await plugged(t)
  await line.setBaud(57600)
  t.equal(await speedOf(pty), 57600)
  await line.close()
  await line.open()
  t.equal(await speedOf(pty), 9600)
})

test('a stop that is written before or while the speed is set arrives', async (t) => {
  const { pty, line } = await plugged(t)
  const arrives = async (what: string, writing: () => Promise<void>) => {
    const there = new Promise<string>((resolve) => {
      let all = ''
      pty.onBytes((bytes) => {
        all += Buffer.from(bytes)
        if (all.endsWith('.')) resolve(all)
      })
    })
    await writing()
    line.write(Buffer.from('.'))
    if (!(await there).startsWith('halt')) t.fail(what)
  }
  for (let round = 0; round < 30; round++) {
    await arrives('before a speed that is set already', async () => {
      line.write(Buffer.from('halt'))
      await line.setBaud(9600)
    })
    for (const baud of [57600, 9600]) {
      await arrives('while the speed is changed', async () => {
        const changed = line.setBaud(baud)
        line.write(Buffer.from('halt'))
        await changed
      })
    }
  }
})

test('modem lines that are not there are told from those that were set', async (t) => {
  const { line } = await plugged(t)
  t.equal(await line.setModem({ rts: false }), false)
  t.equal(line.state, 'open')
})

test('without its package a port says so, and the process lives', async (t) => {
  const script = `
    import { register } from 'node:module'
    register('data:text/javascript,' + encodeURIComponent(
      "export const resolve = (name, context, next) => { if (name === 'serialport') throw new Error('no binding'); return next(name, context) }"))
    const { serialPort } = await import(${JSON.stringify(new URL('./serial_port.js', import.meta.url).href)})
    await serialPort({ path: '/dev/null', serial: { baud: 9600 } }).open().catch((error) => console.log(error.code, error.message))`
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', script])
  t.match(stdout, /^disconnected serial ports cannot be used here, the package serialport does not load: no binding/)
})

async function speedOf(pty: Pty): Promise<number> {
  return Number((await run('stty', ['-F', pty.path, 'speed'])).stdout)
}
