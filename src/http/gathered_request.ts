// A request whose small chunks are gathered into a few pieces. Node makes a buffer of each chunk, which
// takes some two hundred bytes of memory for one byte.

import { IncomingMessage } from 'node:http'
import type { Server, Socket } from 'node:net'

/** The size up to which a piece is gathered. The first few pieces are passed on unchanged. */
const small_bytes = 64
const few = 16
const gathered_bytes = 4096
/** The most small pieces of a body. Each costs as much as a large one, and a client without a key may send them. */
export const mostSmall = 1000

export class GatheredRequest extends IncomingMessage {
  #gathered: Buffer | undefined
  #length = 0
  #small = 0
  #isRefused = false

  override push(piece: Buffer | null): boolean {
    if (this.#isRefused) return false
    if (piece === null || piece.length > small_bytes || ++this.#small <= few) {
      this.#passOn()
      return super.push(piece)
    }
    if (this.#small > mostSmall) return this.#refuse()
    return this.#gather(piece)
  }

  #gather(piece: Buffer): boolean {
    if (!this.#gathered) {
      this.#gathered = Buffer.allocUnsafeSlow(gathered_bytes)
      this.#length = 0
      setImmediate(() => this.#passOn())
    }
    this.#length += piece.copy(this.#gathered, this.#length)
    return this.#length + small_bytes <= gathered_bytes || this.#passOn()
  }

  /** Passes the gathered bytes on. Returns whether more is wanted. */
  #passOn(): boolean {
    const gathered = this.#gathered
    this.#gathered = undefined
    return gathered === undefined || this.destroyed || super.push(gathered.subarray(0, this.#length))
  }

  /** Refuses the body with an error like one of the parser, which ends the connection. */
  #refuse(): boolean {
    const socket = this.socket as Socket & { server: Server }
    if (!this.#isRefused)
      socket.server.emit('clientError', Object.assign(new Error('the pieces of the body are too small'), { code: smallPieces }), socket)
    this.#isRefused = true
    return false
  }
}

/** The code of that error. */
export const smallPieces = 'BENCHD_SMALL_PIECES'
