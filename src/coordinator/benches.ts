// The benches of a lab file, spoken to over HTTP as any client speaks to them. A bench that does not answer is `disconnected`; a request that a
// bench refuses comes back as `Refused`, with the sentence of the bench.

import { Agent as HttpAgent, type IncomingMessage, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import type * as v from 'valibot'
import { LabError, messageOf } from '../errors.ts'
import { readText } from '../kit/files.ts'
import { deepestWritten, isDeeper } from '../kit/json.ts'
import { checked } from '../kit/schema.ts'
import { Anything, Fleet } from './answers.ts'
import { type Lab, pathIn } from './lab_file.ts'
import { pinnedAgent } from './pinned_agent.ts'

/** The address of a bench, as the broker or the lab file says. */
type Address = { url: string; fingerprint?: string | null | undefined }

/** A bench has understood the request and refuses it; nothing has happened. */
export class Refused extends LabError {
  readonly status: number

  constructor(status: number, message: string) {
    super(status === 404 ? 'not_found' : 'conflict', cut(message))
    this.status = status
  }
}

/** A bench must send its whole answer within this time, so that a slow sender does not hold a request open. */
const answer_ms = 10_000
/** The limit for the answer to a stop, which is shorter. */
const stop_ms = 3000
const longestAnswer = 16 * 1024 * 1024
const longestSentence = 1000
/** Characters of a line of events; the rest is cut off. The id of the run comes earlier in the line. */
const longestLine = 1024 * 1024
const streamAgain_ms = 1000
/** Stands for a run that the bench may have refused because other labware stands at its start. */
export const notOrdered = ''

type Request = { method: string; path: string; body?: object | undefined; agent?: HttpAgent }
type Answers<Answer> = v.GenericSchema<unknown, Answer>

export class RemoteBench {
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

  /** Rejects with `Refused`, or with `disconnected` without a readable answer: the bench may have carried the request out then. */
  ask(method: 'GET' | 'POST' | 'PUT' | 'DELETE', path: string, body?: object): Promise<object>
  ask<Answer>(method: 'POST', path: string, body: object, answer: Answers<Answer>): Promise<Answer>
  async ask(method: string, path: string, body?: object, answer: Answers<unknown> = Anything): Promise<unknown> {
    return this.#asked({ method, path, body }, answer, answer_ms)
  }

  /** Rejects as `ask`. */
  get<Answer>(path: string, answer: Answers<Answer>): Promise<Answer> {
    return this.#asked({ method: 'GET', path }, answer, answer_ms)
  }

  /** Asks on a connection of its own, behind no other request, and does not wait as long. Rejects as `ask`. */
  async askNow<Answer>(method: 'GET' | 'POST', path: string, answer: Answers<Answer>): Promise<Answer> {
    const agent = this.#newAgent(this.#located())
    try {
      return await this.#asked({ method, path, agent, ...(method === 'POST' && { body: {} }) }, answer, stop_ms)
    } finally {
      agent.destroy()
    }
  }

  async #asked<Answer>(request: Request, answer: Answers<Answer>, wait_ms: number): Promise<Answer> {
    const ended = new AbortController()
    const timer = setTimeout(() => ended.abort(new Error(`no whole answer within ${wait_ms / 1000} s`)), wait_ms)
    try {
      const response = await this.#send(request, ended.signal)
      return this.#answerOf(response.statusCode ?? 0, await textOf(response, this.name, ended.signal), answer)
    } finally {
      clearTimeout(timer)
    }
  }

  #answerOf<Answer>(status: number, text: string, answer: Answers<Answer>): Answer {
    if (status >= 200 && status < 300) {
      try {
        return checked(answer, parsed(text), `the answer of the bench ${this.name} is not what a bench answers`)
      } catch (error) {
        throw new LabError('disconnected', `${cut(messageOf(error))}; see what listens at ${this.url}, and its version`)
      }
    }
    const detail = detailOf(text) ?? `it answered ${status}`
    if (status >= 500 && status !== 503) throw new LabError('disconnected', `${this.name}: ${detail}`)
    throw new Refused(status, `${this.name}: ${detail}`)
  }

  /** Asks with GET; resolves with undefined where the bench has no such thing. */
  async find<Answer>(path: string, answer: Answers<Answer>): Promise<Answer | undefined> {
    try {
      return await this.get(path, answer)
    } catch (error) {
      if (error instanceof Refused && error.status === 404) return undefined
      throw error
    }
  }

  /** Names the history of the bench's log, which changes when a backup is restored. Empty where the bench has no broker. */
  async epoch(): Promise<string> {
    const { link } = await this.get('/api/lab', Fleet)
    return link?.epoch ?? ''
  }

  /** Follows the events of the bench until `close`, so that watchers of a run are called at once. */
  follow(): void {
    if (this.#isClosed) return
    const again = () => {
      this.#stream = undefined
      if (!this.#isClosed) this.#again = setTimeout(() => this.follow(), streamAgain_ms)
    }
    const ended = new AbortController()
    const timer = setTimeout(() => ended.abort(new Error('the stream of events does not begin')), answer_ms)
    this.#send({ method: 'GET', path: '/events/stream' }, ended.signal).then((response) => {
      clearTimeout(timer)
      if (response.statusCode !== 200 || this.#isClosed) {
        response.destroy()
        return again()
      }
      this.#stream = response
      // The stream is silent for fifteen seconds at most.
      response.socket.setTimeout(40_000, () => response.destroy())
      response.on('error', () => undefined)
      response.on('close', () => {
        // Watchers of a run learn that its bench is away.
        this.#tellAll()
        again()
      })
      this.#tellAll()
      const lines = new Lines((line) => {
        const [, id] = /^data:.*"execution_id":"([^"]+)"/s.exec(line) ?? []
        if (id !== undefined) this.#tell(id)
        if (/"status":"(PLACING|COMPLETED)"/.test(line)) this.#tell(notOrdered)
      })
      response.setEncoding('utf8').on('data', (text: string) => lines.take(text))
    }, again)
  }

  /** Calls when something has happened in the run, or, for `notOrdered`, when labware may have left a position. Returns the function that ends the watch. */
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

  /** Throws `disconnected` where nobody knows the address. */
  #located(): Address {
    const address = this.#address()
    if (!address) throw new LabError('disconnected', `the bench ${this.name} has not told the broker its address yet; see that it runs`)
    if (!URL.canParse(address.url))
      throw new LabError('disconnected', `the bench ${this.name} has told an address that is none: ${address.url}`)
    if (address.fingerprint && !address.url.startsWith('https:'))
      throw new LabError('disconnected', `the bench ${this.name} is to be known by its certificate, and ${address.url} has none`)
    return address
  }

  async #send({ method, path, body, agent }: Request, ended: AbortSignal): Promise<IncomingMessage> {
    const address = this.#located()
    const sent = body === undefined ? undefined : JSON.stringify(body)
    const headers = {
      'X-API-Key': this.#api_key,
      ...(sent !== undefined && { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(sent) }),
    }
    return new Promise((resolve, reject) => {
      const url = new URL(path, address.url)
      const send = url.protocol === 'https:' ? requestHttps : requestHttp
      const asking = send(url, { method, headers, agent: agent ?? this.#agentFor(address) })
      const failed = (error: Error) =>
        reject(
          new LabError('disconnected', `the bench ${this.name} does not answer at ${address.url}: ${messageOf(error)}`, { cause: error }),
        )
      const cut = () => {
        // Before it is connected, a request emits nothing when it is aborted.
        failed(ended.reason as Error)
        asking.destroy(ended.reason as Error)
      }
      ended.addEventListener('abort', cut, { once: true })
      asking.on('error', failed)
      asking.on('response', resolve)
      asking.end(sent)
    })
  }

  #agentFor({ url, fingerprint }: Address): HttpAgent {
    const of = `${url} ${fingerprint}`
    if (this.#agents?.of !== of) {
      this.#agents?.agent.destroy()
      this.#agents = { of, agent: this.#newAgent({ url, fingerprint }) }
    }
    return this.#agents.agent
  }

  #newAgent({ url, fingerprint }: Address): HttpAgent {
    return url.startsWith('https:') ? pinnedAgent(fingerprint ?? undefined) : new HttpAgent({ keepAlive: true, maxSockets: 8 })
  }
}

/** The file with the API key of a bench. */
export function keyPath(lab: Lab, name: string): string {
  return pathIn(lab, `${lab.keys}/${name}.key`)
}

/** Returns the instruction for making a key that the coordinator can use. */
export function makeKey({ name }: Lab): string {
  return `make one on that bench: benchd key create --name lab-${name} --scope admin, and write it into that file`
}

/** The benches of a lab file, each with its key. Rejects with `config`, naming the file of a key that is missing. */
export async function openBenches(lab: Lab, announced: (name: string) => string | undefined): Promise<Map<string, RemoteBench>> {
  const benches = new Map<string, RemoteBench>()
  for (const [name, where] of Object.entries(lab.benches)) {
    const path = keyPath(lab, name)
    const key = await readText(path).catch((error) => {
      throw new LabError('config', `${lab.origin}: benches.${name}: its API key is not in ${path} (${messageOf(error)}); ${makeKey(lab)}`)
    })
    const api_key = key.trim()
    if (!/^bk_[\w-]{1,128}$/.test(api_key))
      throw new LabError(
        'config',
        `${lab.origin}: benches.${name}: ${path} holds no API key, which begins with bk_; write the key of the bench into it`,
      )
    benches.set(name, new RemoteBench(name, api_key, () => addressOf(where, announced)))
  }
  return benches
}

/** Cuts a sentence of a bench, which may be of any length. */
export function cut(text: string): string {
  return text.length > longestSentence ? `${text.slice(0, longestSentence)}…` : text
}

/** Splits a stream of text into lines; a line over the limit is cut. */
export class Lines {
  readonly #tell: (line: string) => void
  #begun = ''

  constructor(tell: (line: string) => void) {
    this.#tell = tell
  }

  take(text: string): void {
    const [first = '', ...lines] = text.split('\n')
    if (this.#begun.length < longestLine) this.#begun += first
    for (const line of lines) {
      this.#tell(this.#begun)
      this.#begun = line
    }
  }
}

/**
 * The lab file says which server may have the key of a bench: the one at the address that the file names, or the one with the certificate that it names.
 * The broker only tells where that certificate is now.
 */
function addressOf(
  { url, name, fingerprint }: Lab['benches'][string],
  announced: (name: string) => string | undefined,
): Address | undefined {
  const where = url ?? (name === undefined || fingerprint === undefined ? undefined : announced(name))
  return where === undefined ? undefined : { url: where, fingerprint }
}

async function textOf(response: IncomingMessage, name: string, ended: AbortSignal): Promise<string> {
  const parts: Buffer[] = []
  let length = 0
  const cut = () => response.destroy(ended.reason as Error)
  ended.addEventListener('abort', cut, { once: true })
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

function parsed(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text)
    return isDeeper(value, deepestWritten) ? undefined : value
  } catch {
    return undefined
  }
}

function detailOf(text: string): string | undefined {
  const detail = (parsed(text) as { detail?: unknown } | null | undefined)?.detail
  return typeof detail === 'string' ? detail : undefined
}
