// Draws a dry run: a row for each thread, time from left to right, and a legend.

import { clock } from '../../kit/seconds.ts'
import type { Bar, DryRun } from '../../workflow/dry_run.ts'
import { ownColors } from '../table.ts'

type Look = { columns: number; color: boolean }

const narrowest = 80
const widest = 120
const longestName = 24

/** The signs of devices; further devices share the last one. */
const signs = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789#']
const move = '>'
const wait = '·'
/** The legend of steps without a device: manual steps, events, code. */
const noDevice = 'steps without a device'
const colors = [36, 33, 35, 32, 34, 31]

/** Draws lines of 80 to 120 columns, with escape sequences only if `color`. Steps without a device and duration, such as events, are left out. */
export function gantt(run: Pick<DryRun, 'gantt' | 'makespan_s'>, { columns, color }: Look): string {
  const width = Math.min(widest, Math.max(narrowest, columns))
  const threads = [...new Set(run.gantt.map(({ thread_name }) => thread_name))]
  if (threads.length === 0) return 'nothing happens in it'
  const names = Math.min(longestName, Math.max(...threads.map(({ length }) => length)))
  const axis: Axis = { cells: width - names - 1, end: run.makespan_s || 1 }
  const bars = run.gantt.filter(({ kind, device, from_s, to_s }) => kind === 'move' || device !== null || to_s > from_s)
  const keys = keysOf(bars)
  const paint = (cell: string) => (color ? painted(cell, [...keys.values()].indexOf(cell)) : cell)
  const rows = threads.map((thread) => {
    const cells = rowOf(
      bars.filter(({ thread_name }) => thread_name === thread),
      axis,
      keys,
    )
    return `${fitted(thread, names)} ${cells.map(paint).join('')}`.trimEnd()
  })
  return [`${' '.repeat(names)} ${scale(axis)}`.trimEnd(), ...rows, '', ...legend(keys, { width, paint })].join('\n')
}

type Axis = { cells: number; end: number }

/** Assigns signs to devices in the order of use. */
function keysOf(bars: readonly Bar[]): Map<string, string> {
  const keys = new Map<string, string>()
  for (const { kind, device } of bars) {
    const name = device ?? noDevice
    if (kind === 'action' && !keys.has(name)) keys.set(name, signs[Math.min(keys.size, signs.length - 1)]!)
  }
  return keys
}

/** Draws a row. Each cell shows the bar with the largest share of its time. A bar shorter than a cell still gets one. */
function rowOf(bars: readonly Bar[], { cells, end }: Axis, keys: ReadonlyMap<string, string>): string[] {
  const at = (seconds: number) => (seconds / end) * cells
  const most = new Array<number>(cells).fill(0)
  const row = new Array<string>(cells).fill(' ')
  const last = Math.max(...bars.map(({ to_s }) => to_s))
  const first = Math.min(...bars.map(({ from_s }) => from_s))
  for (let cell = Math.floor(at(first)); cell < Math.min(cells, Math.ceil(at(last))); cell++) row[cell] = wait
  for (const { kind, device, from_s, to_s } of bars) {
    const [from, to] = [at(from_s), at(to_s)]
    for (let cell = Math.floor(from); cell < Math.min(cells, Math.max(Math.ceil(to), Math.floor(from) + 1)); cell++) {
      const share = Math.min(to, cell + 1) - Math.max(from, cell)
      // A move has the lowest priority.
      const weight = kind === 'move' ? share / 1000 : share
      if (row[cell] !== wait && row[cell] !== ' ' && weight <= most[cell]!) continue
      most[cell] = weight
      row[cell] = kind === 'move' ? move : keys.get(device ?? noDevice)!
    }
  }
  return row
}

/** Draws marks at round numbers, as many as fit. */
function scale({ cells, end }: Axis): string {
  const step = steps.find((step) => (step / end) * cells >= 12) ?? Math.ceil(end / 4)
  let line = ''
  for (let seconds = 0; ; seconds += step) {
    const at = Math.round((seconds / end) * cells)
    const mark = `|${clock(seconds)}`
    if (at + mark.length > cells) return line
    line = line.padEnd(at) + mark
  }
}

const [minute, hour] = [60, 3600]
const steps = [1, 2, 5, 10, 15, 30, minute, 2 * minute, 5 * minute, 10 * minute, 30 * minute, hour, 2 * hour, 4 * hour, 8 * hour, 24 * hour]

function legend(keys: ReadonlyMap<string, string>, { width, paint }: { width: number; paint(cell: string): string }): string[] {
  const entries = [
    ...[...keys].map(([device, sign]) => ({ sign, text: device })),
    { sign: move, text: 'moves' },
    { sign: wait, text: 'waits' },
  ]
  const lines: { text: string; length: number }[] = []
  for (const { sign, text } of entries) {
    const length = text.length + 2
    const line = lines.at(-1)
    if (line && line.length + 2 + length <= width) {
      line.text += `  ${paint(sign)} ${text}`
      line.length += 2 + length
    } else lines.push({ text: `${paint(sign)} ${text}`, length })
  }
  return lines.map(({ text }) => text)
}

function fitted(name: string, width: number): string {
  return name.length > width ? `${name.slice(0, width - 1)}…` : name.padEnd(width)
}

function painted(cell: string, index: number): string {
  return index < 0 ? cell : ownColors(`\u001b[${colors[index % colors.length]}m`) + cell + ownColors('\u001b[0m')
}
