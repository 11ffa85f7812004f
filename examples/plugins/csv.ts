// Writes every reading of every device into CSV files: utc, device, reading, value, unit.
//
// Settings, all optional:
//   {"folder": "/var/lib/benchd/plugins/csv", "every_s": 10, "file_mib": 10, "files": 20}
//
// A file of `file_mib` is followed by a new one, and the oldest beyond `files` is removed. Each addition is synced to the disk.

import { closeSync, fdatasyncSync, fstatSync, ftruncateSync, openSync, readdirSync, readSync, unlinkSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { type PluginBench, plugin } from 'benchd/plugin'

type Value = { value: number; target: number | null; unit: string }
/** Temperatures in °C. */
type Reading = { at: number; temperature: number | null; target: number | null; others?: Record<string, Value> }

const head = 'utc,device,reading,value,unit\n'
const ours = /^values-\d{8}T\d{6}\.\d{3}Z\.csv$/

export default plugin({
  name: 'CSV of every value',
  start(bench) {
    const { folder = bench.folder, every_s = 10, file_mib = 10, files = 20 } = bench.settings as Partial<Settings>
    const output = new Output({ folder, longest: file_mib * 1024 * 1024, most: files })
    const newest = new Map<string, number>()
    const began = Date.now() / 1000
    let timer: NodeJS.Timeout | undefined
    let isOver = false
    const write = async () => {
      try {
        output.append(await rowsSince(bench, newest, began))
      } catch (error) {
        bench.log(`values are missing: ${(error as Error).message}`)
      }
    }
    const turn = async () => {
      await write()
      if (!isOver) timer = setTimeout(turn, every_s * 1000)
    }
    void turn()
    return () => {
      isOver = true
      clearTimeout(timer)
      output.close()
    }
  },
})

type Settings = { folder: string; every_s: number; file_mib: number; files: number }

/** Returns the rows of all devices since those that were returned before; `newest` has the time of the last one of each device. */
async function rowsSince(bench: PluginBench, newest: Map<string, number>, began: number): Promise<string[]> {
  const rows: { at: number; row: string }[] = []
  const { devices } = await answer<{ devices: { device_id: string }[] }>(bench, '/api/devices')
  for (const { device_id } of devices) {
    const since = newest.get(device_id) ?? began
    const { readings } = await answer<{ readings: Reading[] }>(bench, `/api/devices/${device_id}/readings?since=${since}`)
    for (const reading of readings.filter(({ at }) => at > since)) {
      newest.set(device_id, reading.at)
      rows.push(...valuesOf(reading).map((values) => ({ at: reading.at, row: rowOf(device_id, reading.at, values) })))
    }
  }
  return rows.sort((one, other) => one.at - other.at).map(({ row }) => row)
}

type Named = [name: string, value: number | null, unit: string]

function valuesOf({ temperature, target, others = {} }: Reading): Named[] {
  const named = Object.entries(others).flatMap(([name, { value, target, unit }]): Named[] => [
    [name, value, unit],
    [`${name}_target`, target, unit],
  ])
  return [['temperature', temperature, '°C'] as Named, ['temperature_target', target, '°C'] as Named, ...named].filter(
    ([, value]) => value !== null,
  )
}

function rowOf(device_id: string, at: number, [name, value, unit]: Named): string {
  const cells = [new Date(at * 1000).toISOString(), device_id, name, String(value), unit]
  // A cell that begins like a formula would be calculated by a spreadsheet; numbers may be negative.
  const safe = (cell: string, i: number) => (i !== 3 && /^[=+\-@\t\r]/.test(cell) ? `'${cell}` : cell)
  return `${cells.map((cell, i) => (/[",\r\n]/.test(safe(cell, i)) ? `"${safe(cell, i).replaceAll('"', '""')}"` : safe(cell, i))).join(',')}\n`
}

async function answer<Body>(bench: PluginBench, path: string): Promise<Body> {
  const { status, body } = await bench.request('GET', path)
  if (status !== 200) throw new Error(`${path} is answered with ${status}`)
  return body as Body
}

class Output {
  readonly #options: { folder: string; longest: number; most: number }
  #file: number | undefined
  #bytes = 0

  constructor(options: { folder: string; longest: number; most: number }) {
    this.#options = options
    const last = this.#names().at(-1)
    if (last !== undefined) this.#open(last)
  }

  append(rows: readonly string[]): void {
    if (rows.length === 0) return
    if (this.#file === undefined || this.#bytes >= this.#options.longest) this.#next()
    const text = rows.join('')
    // A write that the disk cuts short leaves no half of a row.
    let done = 0
    try {
      for (const bytes = Buffer.from(text); done < bytes.length; ) done += writeSync(this.#file!, bytes, done)
      fdatasyncSync(this.#file!)
    } catch (error) {
      ftruncateSync(this.#file!, this.#bytes)
      throw error
    }
    this.#bytes += done
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file)
    this.#file = undefined
  }

  #names(): string[] {
    return readdirSync(this.#options.folder)
      .filter((name) => ours.test(name))
      .sort()
  }

  #next(): void {
    this.close()
    this.#open(`values-${new Date().toISOString().replace(/[-:]/g, '')}.csv`)
    writeSync(this.#file!, head)
    this.#bytes += head.length
    const names = this.#names()
    for (const name of names.slice(0, Math.max(0, names.length - this.#options.most))) unlinkSync(join(this.#options.folder, name))
  }

  /** Opens a file, and cuts off a row that a power cut has torn. */
  #open(name: string): void {
    const file = openSync(join(this.#options.folder, name), 'a+', 0o640)
    const { size } = fstatSync(file)
    const tail = Buffer.alloc(Math.min(size, 4096))
    readSync(file, tail, 0, tail.length, size - tail.length)
    this.#bytes = size - (tail.length - (tail.lastIndexOf(0x0a) + 1))
    if (this.#bytes < size) ftruncateSync(file, this.#bytes)
    this.#file = file
  }
}
