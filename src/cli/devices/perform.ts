// Performs an operation: shows its progress, and handles Ctrl-C.

import { setTimeout as sleep } from 'node:timers/promises'
import type { DeviceInfo } from '../../devices/records.ts'
import { clock } from '../../kit/seconds.ts'
import { ask, patiently, type Service } from '../client.ts'
import { exitCodes } from '../exit.ts'
import { tell } from '../table.ts'
import { isWatched, type OperationAnswer, say } from '../terminal.ts'

type OperationRequest = {
  device_id: string
  operation: string
  /** The route, if it is not that of the operation. */
  route?: string
  body: object
  headers: Record<string, string>
  /** Stop the device on Ctrl-C; by default the operation continues. */
  stops: boolean
  asJson: boolean
}

const again_ms = 500
const clearLine = '\r\u001b[K'

/** Performs the operation. Returns the exit code. */
export async function perform(service: Service, wanted: OperationRequest): Promise<number> {
  const { device_id, operation, route = operation, body, headers, asJson } = wanted
  const over = new AbortController()
  const interrupted = new Promise<'interrupted'>((resolve) => process.once('SIGINT', () => resolve('interrupted')))
  const asked = { headers, signal: over.signal }
  const answer = ask<OperationAnswer>(patiently(service), 'POST', `${pathOf(device_id)}/${route}`, body, asked)
  const progress = isWatched() && !asJson ? showProgress(service, wanted, over.signal).catch(() => undefined) : undefined
  const outcome = await Promise.race([answer, interrupted]).finally(() => {
    over.abort()
    return progress
  })
  if (outcome !== 'interrupted') return say(asJson ? outcome : named(outcome, device_id), asJson)
  answer.catch(() => undefined)
  return leave(service, wanted)
}

function named({ success, message, ...values }: OperationAnswer, device_id: string): OperationAnswer {
  return { success, message: message.startsWith(device_id) ? message : `${device_id}: ${message}`, ...values }
}

export function pathOf(device_id: string): string {
  return `/api/devices/${encodeURIComponent(device_id)}`
}

async function showProgress(service: Service, { device_id, operation }: OperationRequest, over: AbortSignal): Promise<void> {
  try {
    while (!over.aborted) {
      const { operation: running } = await ask<DeviceInfo>(service, 'GET', pathOf(device_id), undefined, { signal: over })
      if (running) process.stderr.write(`${clearLine}${device_id}: ${operation}, ${clock(running.seconds_left)} left`)
      await sleep(again_ms, undefined, { signal: over })
    }
  } finally {
    process.stderr.write(clearLine)
  }
}

/** Stops or leaves the operation after Ctrl-C, and says which, also with --quiet. */
async function leave(service: Service, { device_id, operation, stops }: OperationRequest): Promise<number> {
  const goesOn = `${operation} was not stopped: ${device_id} goes on with it; to stop it: benchd stop ${device_id}`
  const said = stops ? (await ask<OperationAnswer>(service, 'POST', `${pathOf(device_id)}/stop`)).message : goesOn
  tell(said)
  return exitCodes.interrupted[0]
}
