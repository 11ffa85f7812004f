// The commands of bridges as a configuration names them, read without its other parts: they may be wrong, and the commands count all the same.

import { parseJsonWithComments } from '../../src/kit/json.ts'

/** Keyed by the id of their devices. Throws `invalid` for what is no JSON; `origin` is what its message calls the text. */
export function commandsOfBridges(text: string, origin: string): ReadonlyMap<string, readonly string[]> {
  const { devices } = Object(parseJsonWithComments(text, origin)) as { devices?: unknown }
  return new Map((Array.isArray(devices) ? devices : []).flatMap((device) => commandOf(Object(device))))
}

function commandOf({ device_id, driver, transport }: Record<string, unknown>): [string, readonly string[]][] {
  const { command } = Object(transport) as { command?: unknown }
  if (typeof device_id !== 'string' || driver !== 'bridge' || !Array.isArray(command) || command.length === 0) return []
  return command.every((word) => typeof word === 'string') ? [[device_id, command]] : []
}
