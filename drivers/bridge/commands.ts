// Reads the commands of bridges from a configuration whose other parts may have mistakes.

import { parseJsonWithComments } from '../../src/kit/json.ts'

/** Returns the commands by device id. Throws `invalid` if the text is not JSON; `origin` names the text in the message. */
export function commandsOfBridges(text: string, origin: string): ReadonlyMap<string, readonly string[]> {
  const { devices } = Object(parseJsonWithComments(text, origin)) as { devices?: unknown }
  return new Map((Array.isArray(devices) ? devices : []).flatMap((device) => commandOf(Object(device))))
}

function commandOf({ device_id, driver, transport }: Record<string, unknown>): [string, readonly string[]][] {
  const { command } = Object(transport) as { command?: unknown }
  if (typeof device_id !== 'string' || driver !== 'bridge' || !Array.isArray(command) || command.length === 0) return []
  return command.every((word) => typeof word === 'string') ? [[device_id, command]] : []
}
