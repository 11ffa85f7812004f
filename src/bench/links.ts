// The connections to other systems beside the bench, as the bench reports them.

import { Confirmations } from '../keys/confirmations.ts'
import type { Clock } from '../kit/clock.ts'

export type MqttStatus = {
  url: string
  topic: string
  is_connected: boolean
  /** A sentence about what is wrong; null where nothing is. */
  failure: string | null
  /** Messages that were sent since the service began. */
  sent: number
  /** Events and answers that were dropped, because the broker was away or slow. */
  dropped: number
}

/** The holder of a key, and the key itself, with which its calls ask the bench. At the control socket, which needs none, `is_local` is true. */
export type McpCaller = { key_id: string; scope: string } & ({ is_local: true } | { is_local: false; api_key: string })

/** The MCP server of the bench. `body` is the parsed body of the request. */
export type McpServer = { handle(request: Request, caller: McpCaller, body: unknown): Promise<Response> }

export type Links = {
  mqtt?: { status(): MqttStatus }
  mcp?: McpServer
  /** The requests that programs ask people to confirm. */
  confirmations: Confirmations
}

export function linksOf(clock: Clock): Links {
  return { confirmations: new Confirmations({ clock }) }
}
