// A client of GET /events that only counts what it gets.

import { Agent, get } from 'node:http'
import type { Child } from '../child.ts'
import type { Serving, Told } from './service.ts'

export type Answer = { events: number; bytes: number; ms: number }

const agent = new Agent({ keepAlive: true })
const needle = Buffer.from('{"event_name":"METHOD.')

/** Counts the events of the benches, and no others. */
export function ask({ port, head }: Serving, query: string): Promise<Answer> {
  const began = performance.now()
  const [, key] = /X-API-Key: (\S+)/.exec(head) ?? []
  return new Promise((resolve, reject) => {
    const request = get(
      { port, host: '127.0.0.1', path: `/events?${query}`, headers: key ? { 'X-API-Key': key } : {}, agent },
      (response) => {
        if (response.statusCode !== 200) return reject(new Error(`GET /events answered ${response.statusCode}`))
        let events = 0
        let bytes = 0
        let rest = Buffer.alloc(0)
        response.on('data', (piece: Buffer) => {
          bytes += piece.length
          const whole = rest.length ? Buffer.concat([rest, piece]) : piece
          let after = 0
          for (let at = whole.indexOf(needle); at !== -1; at = whole.indexOf(needle, after)) {
            events++
            after = at + needle.length
          }
          rest = Buffer.from(whole.subarray(Math.max(after, whole.length - needle.length + 1)))
        })
        response.on('end', () => resolve({ events, bytes, ms: performance.now() - began }))
        response.on('error', reject)
      },
    )
    request.on('error', reject)
  })
}

/** Takes everything, and watches how much memory the service has meanwhile. */
export async function askAll(service: Child<Serving>): Promise<Answer & { rss_mib: number }> {
  const answered = ask(service.ready, 'since=0')
  let done = false
  const end = () => {
    done = true
  }
  answered.then(end, end)
  let rss_mib = 0
  while (!done) {
    rss_mib = Math.max(rss_mib, (await service.ask<Told>({})).rss_mib)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  return { ...(await answered), rss_mib }
}
