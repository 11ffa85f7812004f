// A service with plug-ins: one that writes how late each event reaches it, and one that does what none should do.

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Bench } from '../../../src/bench/bench.ts'
import { ownFolder } from '../child.ts'

/** The code of plug-ins that abuse their process, by name. */
const abuses: Readonly<Record<string, string>> = {
  none: '',
  throw: `bench.registerSink({ onEvent() { setImmediate(() => { throw new Error('broken') }) } })`,
  block: `bench.registerSink({ onEvent() { const end = Date.now() + 1000; while (Date.now() < end); } })`,
  loop: `bench.registerSink({ onEvent() { for (;;); } })`,
  exit: `bench.registerSink({ onEvent() { process.exit(3) } })`,
  'take 1 GiB': `const all = []; bench.registerSink({ onEvent() { while (all.length < 64) all.push(Buffer.alloc(16 << 20, 1)) } })`,
}
export const abuseNames = Object.keys(abuses).filter((name) => name !== 'none')

/** The lag of events at the plug-in that behaves, in ms, and the events that it lost. `named`: the other one has an error. */
export type Lag = { lags_ms: number[]; dropped: number; named: boolean }

const folder = ownFolder()
const file = join(folder, 'lags')

const good = `
import { appendFileSync } from 'node:fs'
export default { name: 'good', start(bench) {
  bench.registerSink({ onEvent({ timestamp }) {
    appendFileSync(bench.settings.file, (performance.timeOrigin + performance.now() - timestamp * 1000).toFixed(3) + '\\n')
  } })
} }`

export function pluginsWith(abuse: string): object {
  const module = (name: string, code: string) => {
    const path = join(folder, `${name}.mjs`)
    writeFileSync(path, code)
    return path
  }
  writeFileSync(file, '')
  const bad = `export default { name: 'bad', start(bench) { ${abuses[abuse]} } }`
  return {
    good: { module: module('good', good), settings: { file }, queue: 10_000 },
    ...(abuse !== 'none' && { bad: { module: module('bad', bad), answer_s: 1 } }),
  }
}

/** Takes the lags since the last call. */
export async function lagOf({ plugins }: Bench): Promise<Lag> {
  const lags_ms = readFileSync(file, 'utf8').split('\n').filter(Boolean).map(Number)
  writeFileSync(file, '')
  const all = await plugins.list()
  const dropped = all.find(({ name }) => name === 'good')!.events_dropped
  const bad = all.find(({ name }) => name === 'bad')
  return { lags_ms, dropped, named: bad !== undefined && (bad.last_error !== null || bad.events_dropped > 0) }
}
