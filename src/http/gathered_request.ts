// A request whose body lies in a few pieces, however small the chunks are in which its client sends it. Node makes a buffer of each chunk, which
// takes some two hundred bytes for one byte.

import { IncomingMessage } from 'node:http'
import type { Server, Socket } from 'node:net'

/** A larger piece is passed on as it is, and so are the first few. */
const small_bytes = 64
const few = 16
const gathered_bytes = 4096
/** Each of them takes microseconds: a request with more of them is refused. */
export const mostSmall = 10_000

export class GatheredRequest extends IncomingMessage {
  #gathered: Buffer | undefined
  #length = 0
  #small = 0

  override push(piece: Buffer | null): boolean {
    if (piece === null || piece.length > small_bytes || ++this.#small <= few) {
      this.#passOn()
      return super.push(piece)
    }
    if (this.#small === mostSmall) this.#refuse()
    if (this.#small >= mostSmall) return false
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

  /** Whether more is wanted. */
  #passOn(): boolean {
    const gathered = this.#gathered
    this.#gathered = undefined
    return gathered === undefined || this.destroyed || super.push(gathered.subarray(0, this.#length))
  }

  #refuse(): void {
    const socket = this.socket as Socket & { server: Server }
    socket.server.emit('clientError', Object.assign(new Error('the pieces of the body are too small'), { code: smallPieces }), socket)
  }
}

/** The code of the error with which the server hears of such a request. */
export const smallPieces = 'BENCHD_SMALL_PIECES'
