// What a bridge costs: a question to its program, against a program that only echoes the line.

import { spawn } from 'node:child_process'
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { attachedBridge } from '../../drivers/bridge/attach.ts'
import { inMemory } from '../../src/devices/descriptions.ts'
import { bench, median, type Row } from './bench.ts'

const library = fileURLToPath(new URL('../../src/clients/python/benchd_bridge.py', import.meta.url))
const reader = `
from benchd_bridge import Bridge

class Reader(Bridge):
    type = "reader"

    def temperature(self):
        return 22.5

Reader().serve()
`
const echo = `
import sys
for line in sys.stdin:
    sys.stdout.write(line)
    sys.stdout.flush()
`
/** The line of a question to a bridge. */
const question = `${JSON.stringify({ jsonrpc: '2.0', id: 1000, method: 'read', params: { reading: 'temperature' } })}\n`

export const bridge = bench({
  name: 'bridge',
  summary: 'a question to a program in Python behind a device',
  limit: 'an echo in Python',
  options: { rounds: 20, reads: 200 },
  async run({ rounds, reads }) {
    const folder = mkdtempSync(join(tmpdir(), 'bench-bridge-'))
    copyFileSync(library, join(folder, 'benchd_bridge.py'))
    writeFileSync(join(folder, 'reader.py'), reader)
    const [ours, theirs] = [await bridgeTo(join(folder, 'reader.py')), echoing()]
    try {
      // What is called often is compiled by then.
      await Promise.all([timesOf(ours.ask, 500), timesOf(theirs.ask, 500)])
      const found = { ours: [] as number[], theirs: [] as number[] }
      for (let i = 0; i < rounds; i++) {
        found.theirs.push(...(await timesOf(theirs.ask, reads)))
        found.ours.push(...(await timesOf(ours.ask, reads)))
      }
      return [rowOf(found)]
    } finally {
      await ours.end()
      theirs.end()
      rmSync(folder, { recursive: true })
    }
  },
})

function rowOf({ ours, theirs }: { ours: number[]; theirs: number[] }): Row {
  const [value, limit] = [median(ours) * 1000, median(theirs) * 1000]
  return { what: 'read, p50', unit: 'us', value, limit, ratio: value / limit, target: { of: 'ratio', most: 2, wall: true } }
}

async function timesOf(ask: () => Promise<unknown>, count: number): Promise<number[]> {
  const times: number[] = []
  while (times.length < count) {
    const from = performance.now()
    await ask()
    times.push(performance.now() - from)
  }
  return times
}

async function bridgeTo(path: string) {
  const settings = { halt: 'message', halt_s: 5 } as const
  const transport = { command: ['python3', path] }
  const { device, link } = attachedBridge(
    { device_id: 'reader-1', driver: 'bridge', type: 'reader', transport, settings },
    inMemory(undefined),
  )
  await link.open()
  await device.identify()
  return { ask: () => device.get_temperature!(), end: () => link.close() }
}

function echoing() {
  const child = spawn('python3', ['-c', echo], { stdio: ['pipe', 'pipe', 'inherit'] })
  let heard = (_line: string) => {}
  child.stdout.setEncoding('utf8').on('data', (line: string) => heard(line))
  const ask = () =>
    new Promise((resolve) => {
      heard = resolve
      child.stdin.write(question)
    })
  return { ask, end: () => child.stdin.end() }
}
