// Draws a frame of `top` in the size of the terminal.

import { asTyped } from '../kit/as_typed.ts'
import type { ExecutionSnapshot, ExecutionSummary } from '../workflow/snapshot.ts'
import { atShell } from './at_shell.ts'
import type { Shown } from './bench.ts'
import { deviceTable } from './devices/shown.ts'
import { modeText } from './run_modes.ts'
import { endOf, stateOf, threadRows } from './runs/shown.ts'
import { serviceLine } from './status.ts'
import { escapedForeign, table } from './table.ts'
import { colored } from './terminal.ts'

export type View = { bench: Shown; runs: readonly RunView[] }
type RunView = ExecutionSummary & Pick<ExecutionSnapshot, 'threads' | 'moves'>
type Size = { columns: number; rows: number }

/** Draws everything without a size. `trouble` says why the state is outdated. */
export function frame({ bench, runs }: View, { size, trouble }: { size?: Size; trouble?: string | undefined } = {}): string[] {
  const { health, system_id, devices, readings, steps, incidents } = bench
  const parts = [
    [`${serviceLine(health)}  ${system_id}${trouble ? `  ${colored('red', trouble)}` : ''}`],
    deviceTable('DEVICE', devices, readings).split('\n'),
    ...steps.map(({ step_id, instruction }) => [
      colored('yellow', `to do: ${instruction}  (when done: ${asTyped(`benchd runs confirm ${step_id}`)})`),
    ]),
    ...incidents.slice(0, 3).map(({ category, message }) => [colored('red', `${category}: ${atShell(message)}`)]),
    ...(runs.length ? runs.map(runLines) : [['no open runs']]),
  ]
  const lines = parts.flatMap((part, i) => (i === 0 ? part : ['', ...part]))
  return size ? fitted(lines, size) : lines
}

function runLines(run: RunView): string[] {
  const { execution_id, workflow_name, run_mode } = run
  const ends = endOf(run)
  const rows = threadRows(run).map(([, name = '', status = '', where = '', waits = '']) => [name, status, where, waits])
  return [
    `${workflow_name}  ${modeText(run_mode)}  ${stateOf(run)}${ends ? `  ends ${ends}` : ''}  ${execution_id.slice(0, 8)}`,
    ...table(['THREAD', 'STATUS', 'WHERE', 'WAITS FOR'], rows).split('\n'),
  ]
}

/** Cuts the lines to the size, and counts those that do not fit. */
function fitted(lines: readonly string[], { columns, rows }: Size): string[] {
  const shown = lines.length > rows ? [...lines.slice(0, rows - 1), `… ${lines.length - rows + 1} lines more`] : lines
  return shown.map((line) => cut(line, columns))
}

/** Cuts a line to visible columns, and ends its color. */
function cut(line: string, columns: number): string {
  const [plain = '', ...colored] = escapedForeign(line).split(escapeSign)
  let room = columns - plain.length
  const rest = colored.map((part) => {
    const [color = ''] = /^\[[0-9;]*m/.exec(part) ?? []
    const text = part.slice(color.length)
    const shown = text.slice(0, Math.max(0, room))
    room -= shown.length
    return escapeSign + color + shown
  })
  return plain.slice(0, columns) + rest.join('')
}

const escapeSign = '\u001b'
