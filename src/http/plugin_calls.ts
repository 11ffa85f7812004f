// Requests of plug-ins: they take the way of every request, with the scope of the plug-in's entry and in its name.

import type { Hono } from 'hono'
import { messageOf } from '../errors.ts'
import type { PluginAnswer } from '../plugins/author.ts'
import type { CallBench, PluginCall } from '../plugins/plugin_runner.ts'
import type { Env, Principal } from './contract.ts'

const methods = ['GET', 'POST', 'PUT', 'DELETE']
/** The longest answer that a plug-in gets, in bytes. */
const longest = 4 * 1024 * 1024

/** Makes the function that carries requests of plug-ins out. */
export function pluginCalls(hono: Pick<Hono<Env>, 'request'>): CallBench {
  return async ({ name, scope }, call) => {
    try {
      return await carriedOut(hono, { key_id: `plugin:${name}`, name: `plug-in ${name}`, scope }, call)
    } catch (error) {
      return refusal(500, messageOf(error))
    }
  }
}

async function carriedOut(hono: Pick<Hono<Env>, 'request'>, plugin: Principal, { method, path, body }: PluginCall): Promise<PluginAnswer> {
  if (!methods.includes(method)) return refusal(405, `${JSON.stringify(method)} is no method of the bench; use ${methods.join(', ')}`)
  if (typeof path !== 'string' || !/^\/(?!\/)/.test(path)) return refusal(400, 'a path begins with one slash: /api/devices')
  const sent = body === undefined ? {} : { body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' } }
  const response = await hono.request(path, { method, ...sent }, { plugin })
  if (response.headers.get('content-type')?.startsWith('text/event-stream')) {
    await response.body?.cancel()
    return refusal(400, `${path} is a stream, which a plug-in does not get: register a sink instead`)
  }
  const text = await bounded(response)
  if (text === undefined) return refusal(413, `the answer of ${path} is longer than 4 MiB; ask for less`)
  return { status: response.status, body: parsed(text) }
}

/** Reads the body; undefined if it is too long. */
async function bounded(response: Response): Promise<string | undefined> {
  const pieces: Uint8Array[] = []
  let bytes = 0
  for await (const piece of response.body ?? []) {
    bytes += piece.length
    if (bytes > longest) return undefined
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString()
}

function parsed(text: string): unknown {
  if (text === '') return null
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

function refusal(status: number, detail: string): PluginAnswer {
  return { status, body: { detail } }
}
