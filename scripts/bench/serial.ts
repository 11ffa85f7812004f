// A question and its answer over a pseudo-terminal: our line and exchange, beside the package under them alone.

import { SerialPort } from 'serialport'
import { Exchange } from '../../drivers/transports/exchange.ts'
import { openPty } from '../../drivers/transports/pty.ts'
import { serialPort } from '../../drivers/transports/serial_port.ts'
import { bench, median } from './bench.ts'

const question = 'x'.repeat(19)
const answer = `${'y'.repeat(19)}\n`

export const serial = bench({
  name: 'serial',
  summary: 'an exchange of 20 bytes each way over a pseudo-terminal',
  limit: 'serialport alone',
  options: { exchanges: 400, rounds: 5 },
  async run({ exchanges, rounds }) {
    const [ours, bare] = [await overOurLine(), await overThePackage()]
    try {
      const found: { ours: number[]; bare: number[] } = { ours: [], bare: [] }
      for (let i = 0; i < rounds; i++) {
        found.bare.push(await timed(bare.ask, exchanges))
        found.ours.push(await timed(ours.ask, exchanges))
      }
      const [value, limit] = [median(found.ours), median(found.bare)]
      const ratio = median(found.ours.map((figure, i) => figure / found.bare[i]!))
      return [{ what: 'one exchange', unit: 'us', value, limit, ratio, target: { of: 'ratio', most: 1.5, wall: true } }]
    } finally {
      await ours.close()
      await bare.close()
    }
  },
})

type Asker = { ask(): Promise<unknown>; close(): Promise<void> }

async function timed(ask: () => Promise<unknown>, count: number): Promise<number> {
  const began = performance.now()
  for (let i = 0; i < count; i++) await ask()
  return ((performance.now() - began) * 1000) / count
}

/** Answers whatever ends a line. */
async function answeringPty() {
  const pty = await openPty()
  pty.onBytes((bytes) => {
    if (bytes.at(-1) === 0x0a) pty.write(Buffer.from(answer))
  })
  return pty
}

async function overOurLine(): Promise<Asker> {
  const pty = await answeringPty()
  const line = serialPort({ path: pty.path, serial: { baud: 115_200 } })
  const exchange = new Exchange<string, string>(line, {
    framer(buffer) {
      const end = buffer.indexOf(0x0a)
      return end === -1 ? undefined : { used: end + 1, frame: buffer.toString('latin1', 0, end) }
    },
    encode: (text) => Buffer.from(`${text}\n`, 'latin1'),
    gap_ms: 0,
    resync: { question, recognises: () => true },
  })
  await line.open()
  const close = async () => {
    await line.close()
    await pty.close()
  }
  return { ask: () => exchange.query(question, { deadline_ms: 1000 }), close }
}

async function overThePackage(): Promise<Asker> {
  const pty = await answeringPty()
  const port = new SerialPort({ path: pty.path, baudRate: 115_200 })
  await new Promise((resolve) => port.once('open', resolve))
  let text = ''
  let answered = () => {}
  port.on('data', (bytes: Buffer) => {
    text += bytes.toString('latin1')
    if (!text.endsWith('\n')) return
    text = ''
    answered()
  })
  const ask = () =>
    new Promise<void>((resolve) => {
      answered = resolve
      port.write(`${question}\n`)
    })
  const close = async () => {
    await new Promise((resolve) => port.close(resolve))
    await pty.close()
  }
  return { ask, close }
}
