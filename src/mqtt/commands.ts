// Commands that come over the broker: each is a request with the configured key, as if a client had sent it.

import { messageOf } from '../errors.ts'
import { credentialPath, readText } from '../kit/files.ts'
import type { Incoming } from './connection.ts'

type CommandsOptions = {
  /** The first part of all topics. */
  topic: string
  /** File with the API key. */
  key: string
  fetch(request: Request): Response | Promise<Response>
  /** Publishes an answer below the first part of the topics. */
  answer(topic: string, payload: string): void
  warn(message: string): void
}

type Command = { operation: string; params: object; id: unknown }

export const commandTopics = ['stop', 'device/+/stop', 'device/+/operate'] as const

/** Commands under way at once, without stops. */
const mostAtOnce = 16

export class Commands {
  readonly #options: CommandsOptions
  #underWay = 0

  constructor(options: CommandsOptions) {
    this.#options = options
  }

  /** Carries a message out if it is a command. Returns whether it is one. Never throws. */
  take({ topic, payload, isRetained }: Incoming): boolean {
    const { topic: base, warn } = this.#options
    const words = topic.startsWith(`${base}/`) ? topic.slice(base.length + 1).split('/') : []
    const verb = words.at(-1)
    if (
      !(words.length === 1 && verb === 'stop') &&
      !(words.length === 3 && words[0] === 'device' && (verb === 'stop' || verb === 'operate'))
    )
      return false
    // A command that the broker has kept was meant for another time. An empty one clears such a message.
    if (isRetained) {
      if (payload !== '')
        warn(`mqtt: the command on ${topic} is not carried out, because the broker had kept it; publish commands without retain`)
      return true
    }
    void this.#perform(words, payload)
    return true
  }

  async #perform(words: readonly string[], payload: string): Promise<void> {
    if (words.length === 1) return this.#ask('/api/stop', {}, { answer: 'result', id: null })
    const [, device_id = '', verb] = words
    const path = `/api/devices/${encodeURIComponent(device_id)}`
    const to = `device/${device_id}/result`
    if (verb === 'stop') return this.#ask(`${path}/stop`, {}, { answer: to, id: null })
    const command = commandIn(payload)
    const refuse = (detail: string, id: unknown = null) => this.#options.answer(to, JSON.stringify({ id, status: 400, body: { detail } }))
    if (typeof command === 'string') return refuse(command)
    if (this.#underWay >= mostAtOnce) return refuse(`${mostAtOnce} commands are under way; wait for their results`, command.id)
    this.#underWay++
    try {
      await this.#ask(`${path}/${encodeURIComponent(command.operation)}`, command.params, { answer: to, id: command.id })
    } finally {
      this.#underWay--
    }
  }

  async #ask(path: string, body: object, { answer, id }: { answer: string; id: unknown }): Promise<void> {
    const { key, fetch, warn } = this.#options
    const tell = (status: number, body: unknown) => this.#options.answer(answer, JSON.stringify({ id, status, body }))
    try {
      const headers = { Host: '127.0.0.1', 'X-API-Key': (await readText(credentialPath(key))).trim(), 'Content-Type': 'application/json' }
      const response = await fetch(new Request(`http://127.0.0.1${path}`, { method: 'POST', headers, body: JSON.stringify(body) }))
      tell(response.status, jsonIn(await response.text()))
    } catch (error) {
      warn(`mqtt: the command ${path} is not carried out: ${messageOf(error)}`)
      tell(503, { detail: `the command is not carried out: ${messageOf(error)}` })
    }
  }
}

/** Returns the command in a payload, or a sentence that says what is wrong with the payload. */
function commandIn(payload: string): Command | string {
  const form =
    'a command is {"operation": "shake", "params": {"speed": 500, "duration": 10}}, and may have an "id" that comes back with its result'
  const value = jsonIn(payload)
  if (typeof value !== 'object' || value === null) return `the payload is no JSON object; ${form}`
  const { operation, params = {}, id = null } = value as { operation?: unknown; params?: unknown; id?: unknown }
  if (typeof operation !== 'string' || !/^[a-z][a-z0-9_]{0,63}$/.test(operation)) return `the operation is missing; ${form}`
  if (typeof params !== 'object' || params === null || Array.isArray(params)) return `params is no object; ${form}`
  return { operation, params, id }
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
