// Counts large complete answers that wait for their clients. A key with many of them gets no more, so that the
// service does not work for answers that are not read.

import type { ServerResponse } from 'node:http'
import type { Limits } from '../config/file.ts'
import { LabError } from '../errors.ts'
import type { Refusals } from '../kit/refusals.ts'

type UntakenAnswersOptions = { limits: () => Pick<Limits, 'untaken_per_key'>; refusals: Refusals }

/** The size up to which the kernel buffers an answer. */
const large_bytes = 128 * 1024

export class UntakenAnswers {
  readonly #options: UntakenAnswersOptions
  /** Their number by key; the map has only keys with some. */
  readonly #counts = new Map<string, number>()
  readonly #keys = new Map<ServerResponse, string>()

  constructor(options: UntakenAnswersOptions) {
    this.#options = options
  }

  /** Throws `overloaded` at the limit of the key. */
  mustHaveRoom(key_id: string): void {
    const { untaken_per_key: most } = this.#options.limits()
    if ((this.#counts.get(key_id) ?? 0) < most) return
    const sentence = `${most} large answers to requests of this key wait to be read by its clients`
    this.#options.refusals.count('untaken_per_key', `a request was refused: ${sentence}; limits.untaken_per_key says how many may wait`)
    throw new LabError('overloaded', `${sentence}; read or close them, then ask again`, { retry_after_s: 1 })
  }

  /** Counts a large complete answer until `taken` is called. */
  add(key_id: string, response: ServerResponse): void {
    if (response.writableLength <= large_bytes || this.#keys.has(response)) return
    this.#keys.set(response, key_id)
    this.#counts.set(key_id, (this.#counts.get(key_id) ?? 0) + 1)
  }

  /** Notes that the client has taken the answer, or is gone. */
  taken(response: ServerResponse): void {
    const key_id = this.#keys.get(response)
    if (key_id === undefined) return
    this.#keys.delete(response)
    const left = this.#counts.get(key_id)! - 1
    if (left > 0) this.#counts.set(key_id, left)
    else this.#counts.delete(key_id)
  }
}
