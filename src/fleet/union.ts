// Reads the events of all benches from the broker, each once and those of a bench in order, also after the broker was restored from an older copy
// of its store. Events are identified by bench, epoch and sequence number, never by their place in the stream.

import { messageOf } from '../errors.ts'
import { sleep, systemClock } from '../kit/clock.ts'
import { deepestWritten, isDeeper } from '../kit/json.ts'
import { headerNames } from './history.ts'
import { eventStream } from './outbox.ts'
import { connectTo, type Link, type Place, type Stored } from './wire.ts'

/** The beginning of a line of the union. The event follows, or `too_large` if the broker refused it. */
const beginning = /^\{"bench":"([\w-]+)","epoch":"([\w-]*)","seq":(\d+),/

/** Keeps track of the events that were read. */
export class Union {
  /** The last sequence number of each bench and epoch. */
  readonly #reached = new Map<string, number>()

  /** Notes a line of an earlier output. Returns whether it is a line of the union. */
  resume(line: string): boolean {
    const [, bench, epoch, seq] = beginning.exec(line) ?? []
    if (seq === undefined || !line.endsWith('}')) return false
    this.#reached.set(`${bench}/${epoch}`, Math.max(Number(seq), this.#reached.get(`${bench}/${epoch}`) ?? 0))
    return true
  }

  /** Returns the lines of the message's new events. Lines that are not events are left out, since a bench may send anything. */
  take({ subject, header, payload }: Stored): string[] {
    // Only the bench itself may send to its subject; a header could name another one.
    const bench = subject.split('.').at(-1) ?? ''
    const epoch = header(headerNames.epoch)
    if (!/^[\w-]+$/.test(bench) || !/^[\w-]{1,64}$/.test(epoch)) return []
    const key = `${bench}/${epoch}`
    return new TextDecoder()
      .decode(payload)
      .split('\n')
      .flatMap((text) => {
        const seq = numberOf(text)
        if (seq === undefined || seq <= (this.#reached.get(key) ?? 0)) return []
        this.#reached.set(key, seq)
        return [`{"bench":"${bench}","epoch":"${epoch}",${text.slice(1)}`]
      })
  }
}

/** Returns the sequence number of a line; undefined if it is not JSON of that form, or nested too deep. */
function numberOf(text: string): number | undefined {
  const [, seq] = /^\{"seq":(\d+),/.exec(text) ?? []
  if (seq === undefined) return undefined
  try {
    return isDeeper(JSON.parse(text), deepestWritten) ? undefined : Number(seq)
  } catch {
    return undefined
  }
}

type Reading = {
  union: Union
  /** Whether to wait for new events, and for a broker that is away. */
  follow: boolean
  /** Called with a sentence before a failed connection is tried again. */
  say(sentence: string): void
  /** Ends the reading when it is aborted. */
  ended?: AbortSignal
}

/** The message that was read last. */
type Reached = { seq: number; id: string; to_crc: string }

const firstAgain_ms = 500
const longestAgain_ms = 30_000

/** Yields the new lines of one message at a time. Without `follow`, rejects with `disconnected`. */
export async function* linesOfLab(place: Place, { union, follow, say, ended }: Reading): AsyncGenerator<string[]> {
  let reached: Reached | undefined
  for (let again_ms = firstAgain_ms; !ended?.aborted; again_ms = Math.min(2 * again_ms, longestAgain_ms)) {
    let link: Link | undefined
    const close = () => link?.close()
    ended?.addEventListener('abort', close)
    try {
      link = await connectTo(place)
      if (ended?.aborted) return
      const from = await beginningAt(link, reached)
      if (!follow && from > (await link.newest(eventStream))) return
      for await (const message of link.messages(eventStream, from)) {
        const lines = union.take(message)
        if (lines.length > 0) yield lines
        reached = { seq: message.seq, ...marksOf(message) }
        again_ms = firstAgain_ms
        if (!follow && message.behind === 0) return
      }
    } catch (error) {
      if (ended?.aborted) return
      if (!follow) throw error
      say(`${messageOf(error)}; trying again`)
    } finally {
      ended?.removeEventListener('abort', close)
      close()
    }
    await sleep(systemClock, again_ms, ended).catch(() => undefined)
  }
}

/** Returns the place after the last message that was read; the first place if the broker no longer has that message. */
async function beginningAt(link: Link, reached: Reached | undefined): Promise<number> {
  if (!reached) return 1
  const there = await link.at(eventStream, reached.seq)
  const marks = there && marksOf(there)
  return marks?.id === reached.id && marks.to_crc === reached.to_crc ? reached.seq + 1 : 1
}

function marksOf({ header }: Pick<Stored, 'header'>): Omit<Reached, 'seq'> {
  return { id: header('Nats-Msg-Id'), to_crc: header(headerNames.to_crc) }
}
