// The benches of a lab file, spoken to over HTTP as any client speaks to them. A bench that does not answer is `disconnected`; a request that a
// bench refuses comes back as `Refused`, with the sentence of the bench.

import { Agent as HttpAgent, type IncomingMessage, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { createInterface } from 'node:readline'
import { LabError, messageOf } from '../../errors.ts'
import { readText } from '../../kit/files.ts'
import { type Lab, pathIn } from './lab_file.ts'
import { pinnedAgent } from './pinned_agent.ts'

/** Where a bench is, as it told the broker or as the lab file says. */
export type Address = { url: string; fingerprint?: string | null | undefined }

/** A bench has understood the request and refuses it; nothing has happened. */
export class Refused extends LabError {
  readonly status: number

  constructor(status: number, message: string) {
    super(status === 404 ? 'not_found' : 'conflict', message)
    this.status = status
  }
}

const answer_ms = 10_000
/** A stop is not waited for as long as an ordinary answer. */
export const stop_ms = 3000
const longestAnswer = 16 * 1024 * 1024
const streamAgain_ms = 1000

export class Bench {
  /** The name in the lab file. */
  readonly name: string
  readonly #api_key: string
  readonly #address: () => Address | undefined
  readonly #waiting = new Map<string, Set<() => void>>()
  #agents: { of: string; agent: HttpAgent } | undefined
  #stream: IncomingMessage | undefined
  #isClosed = false
  #again: NodeJS.Timeout | undefined

  constructor(name: string, api_key: string, address: () => Address | undefined) {
    this.name = name
    this.#api_key = api_key
    this.#address = address
  }

  get url(): string | undefined {
    return this.#address()?.url
  }

  /** Rejects with `Refused`, or with `disconnected` where no answer came: the request may have been carried out then. */
  async ask<Answer>(method: 'GET' | 'POST' | 'PUT', path: string, body?: object, wait_ms = answer_ms): Promise<Answer> {
    const response = await this.#send(method, path, body, wait_ms)
    const text = await textOf(response, this.name)
    const status = response.statusCode ?? 0
    if (status >= 200 && status < 300) return JSON.parse(text) as Answer
    const detail = detailOf(text) ?? `it answered ${status}`
    if (status >= 500 && status !== 503) throw new LabError('disconnected', `${this.name}: ${detail}`)
    throw new Refused(status, `${this.name}: ${detail}`)
  }

  /** Asks with GET; resolves with undefined where the bench has no such thing. */
  async find<Answer>(path: string): Promise<Answer | undefined> {
    try {
      return await this.ask<Answer>('GET', path)
    } catch (error) {
      if (error instanceof Refused && error.status === 404) return undefined
      throw error
    }
  }

  /** Names the history of the bench's log; it is another one after a backup was restored. Empty where the bench tells none. */
  async epoch(): Promise<string> {
    const { link } = await this.ask<{ link: { epoch: string } | null }>('GET', '/api/lab')
    return link?.epoch ?? ''
  }

  /** Follows the events of the bench until `close`, so that those who wait for a run look at once. */
  follow(): void {
    if (this.#isClosed) return
    const again = () => {
      this.#stream = undefined
      if (!this.#isClosed) this.#again = setTimeout(() => this.follow(), streamAgain_ms)
    }
    this.#send('GET', '/events/stream', undefined, answer_ms).then((response) => {
      if (response.statusCode !== 200 || this.#isClosed) {
        response.destroy()
        return again()
      }
      this.#stream = response
      // The stream is silent for fifteen seconds at most.
      response.socket.setTimeout(40_000, () => response.destroy())
      response.on('error', () => undefined)
      response.on('close', () => {
        // Whoever waits for a run is to know that its bench is away.
        this.#tellAll()
        again()
      })
      this.#tellAll()
      createInterface({ input: response }).on('line', (line) => {
        const [, id] = /^data:.*"execution_id":"([^"]+)"/.exec(line) ?? []
        if (id !== undefined) this.#tell(id)
      })
    }, again)
  }

  /** Calls when something has happened in the run. The answer ends that. */
  watch(execution_id: string, call: () => void): () => void {
    const calls = this.#waiting.get(execution_id) ?? new Set()
    this.#waiting.set(execution_id, calls.add(call))
    return () => {
      calls.delete(call)
      if (calls.size === 0 && this.#waiting.get(execution_id) === calls) this.#waiting.delete(execution_id)
    }
  }

  close(): void {
    this.#isClosed = true
    clearTimeout(this.#again)
    this.#stream?.destroy()
    this.#agents?.agent.destroy()
  }

  #tellAll(): void {
    for (const id of [...this.#waiting.keys()]) this.#tell(id)
  }

  #tell(execution_id: string): void {
    for (const call of [...(this.#waiting.get(execution_id) ?? [])]) call()
  }

  #send(method: string, path: string, body: object | undefined, wait_ms: number): Promise<IncomingMessage> {
    const address = this.#address()
    if (!address)
      return Promise.reject(
        new LabError('disconnected', `the bench ${this.name} has not told the broker its address yet; see that it runs`),
      )
    const sent = body === undefined ? undefined : JSON.stringify(body)
    const headers = {
      'X-API-Key': this.#api_key,
      ...(sent !== undefined && { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(sent) }),
    }
    return new Promise((resolve, reject) => {
      const url = new URL(path, address.url)
      const send = url.protocol === 'https:' ? requestHttps : requestHttp
      const asking = send(url, { method, headers, agent: this.#agentFor(address) })
      const failed = (error: Error) =>
        reject(
          new LabError('disconnected', `the bench ${this.name} does not answer at ${address.url}: ${messageOf(error)}`, { cause: error }),
        )
      asking.setTimeout(wait_ms, () => asking.destroy(new Error(`no answer within ${wait_ms / 1000} s`)))
      asking.on('error', failed)
      asking.on('response', resolve)
      asking.end(sent)
    })
  }

  #agentFor({ url, fingerprint }: Address): HttpAgent {
    const of = `${url} ${fingerprint}`
    if (this.#agents?.of !== of) {
      this.#agents?.agent.destroy()
      const agent = url.startsWith('https:') ? pinnedAgent(fingerprint ?? undefined) : new HttpAgent({ keepAlive: true, maxSockets: 8 })
      this.#agents = { of, agent }
    }
    return this.#agents.agent
  }
}

/** The benches of a lab file, each with its key. Rejects with `config`, naming the file of a key that is missing. */
export async function openBenches(lab: Lab, addressOf: (name: string) => Address | undefined): Promise<Map<string, Bench>> {
  const benches = new Map<string, Bench>()
  for (const [name, where] of Object.entries(lab.benches)) {
    const path = pathIn(lab, `${lab.keys}/${name}.key`)
    const key = await readText(path).catch((error) => {
      const make = `make one on that bench: benchd key create --name lab-${lab.name} --scope admin, and write it into that file`
      throw new LabError('config', `${lab.origin}: benches.${name}: its API key is not in ${path} (${messageOf(error)}); ${make}`)
    })
    benches.set(name, new Bench(name, key.trim(), typeof where === 'string' ? () => addressOf(where) : () => where))
  }
  return benches
}

async function textOf(response: IncomingMessage, name: string): Promise<string> {
  const parts: Buffer[] = []
  let length = 0
  try {
    for await (const part of response as AsyncIterable<Buffer>) {
      length += part.length
      if (length > longestAnswer) throw new Error(`an answer of more than ${longestAnswer / 1024 / 1024} MiB`)
      parts.push(part)
    }
  } catch (error) {
    throw new LabError('disconnected', `the answer of the bench ${name} broke off: ${messageOf(error)}`, { cause: error })
  }
  return Buffer.concat(parts).toString()
}

function detailOf(text: string): string | undefined {
  try {
    return (JSON.parse(text) as { detail?: string }).detail
  } catch {
    return undefined
  }
}
