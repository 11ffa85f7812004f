// The log of the service: text on a terminal, elsewhere JSON lines with journald's priority.

import { messageOf } from '../errors.ts'
import { asTyped } from './as_typed.ts'
import { withEscapes } from './invisible.ts'

export interface Log {
  info(message: string): void
  warn(message: string): void
  /** Logs an error with its stack, which clients never see. */
  error(message: string, error?: unknown): void
}

const priorities = { info: 6, warn: 4, error: 3 } as const

/** Makes a log that writes to the stream, for people or for journald. */
export function log(stream: NodeJS.WriteStream, isForPeople: boolean = stream.isTTY): Log {
  const write = (level: keyof typeof priorities, text: string, error?: unknown) => {
    const message = asTyped(text)
    const cause = error === undefined ? undefined : error instanceof Error ? (error.stack ?? messageOf(error)) : messageOf(error)
    if (isForPeople) {
      stream.write(withEscapes(`${new Date().toISOString()} ${level.padEnd(5)} ${message}${cause ? `\n${cause}` : ''}\n`))
    } else {
      const entry = JSON.stringify({ time: new Date().toISOString(), level, message, cause })
      stream.write(`<${priorities[level]}>${withEscapes(entry)}\n`)
    }
  }
  return {
    info: (message) => write('info', message),
    warn: (message) => write('warn', message),
    error: (message, error) => write('error', message, error),
  }
}

/** A log without output. */
export const silent: Log = { info() {}, warn() {}, error() {} }
