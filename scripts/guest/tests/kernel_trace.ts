// The kernel's own record of what it did to pins and buses: nothing is too short for it.

import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'

const folder = '/sys/kernel/tracing'

/** Begins a record of these events (`gpio`, `smbus`); its times are on the clock of `now_ms`. */
export function record(events: string): void {
  if (!existsSync(`${folder}/trace`)) execFileSync('mount', ['-t', 'tracefs', 'tracefs', folder])
  writeFileSync(`${folder}/trace_clock`, 'mono')
  writeFileSync(`${folder}/events/${events}/enable`, '1')
}

export function recorded(): string {
  return readFileSync(`${folder}/trace`, 'utf8')
}

export function forget(): void {
  writeFileSync(`${folder}/trace`, '')
}

export function now_ms(): number {
  return Number(process.hrtime.bigint()) / 1e6
}
