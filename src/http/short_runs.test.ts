// Runs that are over within one write to the disk, on a service that is killed or ended under load again and again, while the table of its
// requests is full: is all there that was acknowledged, and was anything done twice?

import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { test } from 'tap'
import type { RuntimeEvent } from '../events/event.ts'
import { demoBench } from '../examples/demo_bench.ts'
import { bounds } from '../keys/idempotency_table.ts'
import { running, spawned } from '../testing/cli.ts'
import { seeded } from '../testing/seeded.ts'
import { trials } from '../testing/trials.ts'

const rounds = trials(60, 4)
const posters = 3
/** Requests that each round repeats. */
const repeated = 60

const quick = {
  format: 1,
  name: 'quick',
  topology: 'demo',
  labware: { plate: { type: '96-well' } },
  methods: {},
  threads: {
    plate: {
      labware: 'plate',
      start: { at: 'pad_1', mode: 'REUSE_EXISTING' },
      end: { at: ['pad_1'], mode: 'LEAVE_IN_PLACE' },
      steps: [{ action: { emit: 'done' } }],
    },
  },
  start: ['plate'],
}

/** A request that was sent; `answer` is what was acknowledged, undefined where the service ended before. */
type Sent = { path: string; body: object; key: string; answer?: Answer }
type Answer = { status: number; body: Record<string, unknown> }
type Door = { url: string; api_key: string }

async function ask({ url, api_key }: Door, method: string, path: string, body?: object, key?: string): Promise<Answer> {
  const headers = { 'X-API-Key': api_key, 'Content-Type': 'application/json', ...(key && { 'Idempotency-Key': key }) }
  const answer = await fetch(url + path, { method, headers, ...(body && { body: JSON.stringify(body) }) })
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> }
}

/** Submissions and events in turn, each under a key of its own, until nobody answers. `told` hears of each that is acknowledged. */
async function post(door: Door, sent: Sent[], told: () => void): Promise<void> {
  for (;;) {
    const id = randomUUID()
    const submission = { path: '/api/submissions', body: { workflow: 'quick', run_mode: 'PURE_SIM', submission_id: id }, key: id }
    const event = { path: '/api/sim/events', body: { event_name: 'TICK.it.DONE', context: { id } }, key: `event ${id}` }
    for (const one of [submission, event] as Sent[]) {
      sent.push(one)
      const answer = await ask(door, 'POST', one.path, one.body, one.key).catch(() => undefined)
      if (!answer || answer.status === 503) return
      if (answer.status >= 400) throw new Error(JSON.stringify(answer))
      one.answer = answer
      told()
    }
  }
}

async function eventsOf(door: Door): Promise<RuntimeEvent[]> {
  const all: RuntimeEvent[] = []
  for (let since = 0; ; ) {
    const { events, next_since } = (await ask(door, 'GET', `/events?since=${since}`)).body as { events: RuntimeEvent[]; next_since: number }
    if (events.length === 0) return all
    all.push(...events)
    since = next_since
  }
}

test('of runs shorter than a write, and of requests beyond a full table, nothing acknowledged is lost and nothing is done twice', async (t) => {
  const random = seeded(20_26)
  const home = t.testdir({})
  const data = `${home}/data`
  mkdirSync(data, { mode: 0o700 })
  writeFileSync(`${home}/config.json`, JSON.stringify({ format: 1, listen: { host: '127.0.0.1', port: 0 }, devices: demoBench.devices }))
  const api_key = (await spawned(home, ['key', 'create', '--name', 'runs', '--scope', 'admin', '--data-dir', data])).stdout.trim()
  fillTable(data, api_key.slice(3, 11))
  const sent: Sent[] = []
  const problems: string[] = []
  const tally = { kills: 0, ends: 0, runs: 0, requests: 0, repeated: 0, refused: 0 }

  /** Looks for the newest requests of before, and sends them once more: with their keys, and submissions also by their ids alone. */
  const look = async (door: Door) => {
    for (const { path, body, key, answer: before } of sent.slice(-repeated)) {
      const { submission_id } = body as { submission_id?: string }
      if (before && submission_id) {
        const found = await ask(door, 'GET', `/api/submissions/${submission_id}`)
        if (found.body.execution_id !== before.body.execution_id) problems.push(`${submission_id} was acknowledged and is missing`)
        const again = await ask(door, 'POST', path, body)
        if (again.body.execution_id !== before.body.execution_id) problems.push(`${submission_id} began again`)
      }
      const again = await ask(door, 'POST', path, body, key)
      tally.repeated++
      if (again.status === 409) tally.refused++
      else if (before && JSON.stringify(again.body) !== JSON.stringify(before.body)) problems.push(`${path} ${key} was answered otherwise`)
    }
  }

  const start = async (): Promise<{ service: ReturnType<typeof running>; door: Door }> => {
    // So many ends in so short a time are what safe mode is for.
    for (const name of ['starts.json', 'starts.json.bak']) rmSync(`${data}/${name}`, { force: true })
    const service = running(t, home, ['serve', '--config', `${home}/config.json`, '--data-dir', data])
    const url = await service.line(/listens on (http:[\w.:/]+)/)
    service.child.stdout.resume()
    return { service, door: { url, api_key } }
  }

  for (let round = 1; round <= rounds; round++) {
    const { service, door } = await start()
    if (round === 1) t.match(await ask(door, 'PUT', '/api/workflows/quick', quick), { status: 201 })
    await look(door)
    const enough = 1 + Math.floor(random() * 20)
    let acknowledged = 0
    await new Promise<void>((resolve, reject) => {
      const told = () => ++acknowledged >= enough && resolve()
      const posting = Promise.all(Array.from({ length: posters }, () => post(door, sent, told)))
      posting.then(() => resolve(), reject)
    })
    for (let turns = Math.floor(random() * 50); turns > 0; turns--) await new Promise(setImmediate)
    const isKilled = round % 6 !== 0
    const ended = once(service.child, 'exit')
    service.child.kill(isKilled ? 'SIGKILL' : 'SIGTERM')
    await ended
    tally[isKilled ? 'kills' : 'ends']++
  }

  const { door } = await start()
  await look(door)
  const events = await eventsOf(door)
  const executions = new Map<string, Set<string>>()
  const ticks = new Map<unknown, number>()
  for (const { event_name, entity_type, entity_id, execution_id, context } of events) {
    if (entity_type === 'SUBMISSION') executions.set(entity_id, new Set([...(executions.get(entity_id) ?? []), execution_id]))
    if (event_name === 'TICK.it.DONE') ticks.set(context.id, (ticks.get(context.id) ?? 0) + 1)
  }
  for (const [id, runs] of executions) if (runs.size !== 1) problems.push(`${id} ran ${runs.size} times`)
  for (const [id, times] of ticks) if (times !== 1) problems.push(`${id} was emitted ${times} times`)
  const done = sent.filter(({ answer }) => answer)
  for (const { body } of done) {
    const { submission_id, context } = body as { submission_id?: string; context?: { id: string } }
    if (submission_id ? !executions.has(submission_id) : !ticks.has(context!.id)) problems.push(`${JSON.stringify(body)} is missing`)
  }
  tally.runs = executions.size
  tally.requests = done.length
  t.comment(JSON.stringify(tally))
  t.same(problems.slice(0, 10), [])
  t.ok(tally.requests > rounds && tally.runs > rounds, JSON.stringify(tally))
})

/** Answers of a day that have no room for one more: each new request takes the answer of an older one. */
function fillTable(data: string, key_id: string): void {
  const at = Date.now() / 1000
  const id = (i: number) => i.toString(16).padStart(64, '0')
  const entries = Array.from({ length: bounds.answers }, (_, i) => ({ id: id(i), key_id, sha256: '', at, state: 'ended', answer: null }))
  const past = { key_id, at, past: Array.from({ length: bounds.past / 2 }, (_, i) => `past ${i}`) }
  writeFileSync(`${data}/idempotency.jsonl`, `{"format":1}\n${[past, ...entries].map((line) => `${JSON.stringify(line)}\n`).join('')}`, {
    mode: 0o600,
  })
}
