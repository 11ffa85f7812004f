// A service that is killed, or ended in order, at each boundary of a move by a person: real processes, and a plate whose place the test knows.

import { writeFileSync } from 'node:fs'
import { type Test, test } from 'tap'
import { benchd, running } from '../testing/cli.ts'
import { oneArm, standing, workflowOf } from '../testing/documents.ts'
import type { CarryTask } from '../workflow/threads/move/carry_task.ts'

type Step = { step_id: string; move: CarryTask }
type Answer = { answer: string; position?: string }

const bench = oneArm({ arm: 'hands', pads: ['a', 'b', 'c'] })
const rounds = workflowOf('rounds', {
  plate: { ...standing('a', 'b'), steps: Array.from({ length: 40 }, (_, i) => ({ park: [i % 2 ? 'a' : 'b'] })) },
})

async function home(t: Test): Promise<{ folder: string; key: string }> {
  const devices = [{ device_id: 'hands', driver: 'person', settings: { confirm: 'twice' } }]
  const config = { format: 1, listen: { host: '127.0.0.1', port: 0 }, devices }
  const topologies = { 'bench.json': JSON.stringify(bench), 'rounds.json': JSON.stringify(rounds) }
  const folder = t.testdir({ 'config.json': JSON.stringify(config), topologies })
  const made = await benchd(folder, ['key', 'create', '--name', 'a', '--scope', 'admin', '--data-dir', `${folder}/data`])
  return { folder, key: made.stdout.trim() }
}

async function started(t: Test, { folder, key }: { folder: string; key: string }) {
  const places = ['--config', `${folder}/config.json`, '--data-dir', `${folder}/data`, '--topologies', `${folder}/topologies`]
  const { child, line, ended } = running(t, folder, ['serve', ...places])
  const url = await line(/http:\/\/[\d.]+:\d+/)
  child.stdout.resume()
  const ask = (method: string, path: string, body?: object) =>
    fetch(url + path, {
      method,
      headers: { 'X-API-Key': key, 'Content-Type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    })
  const get = async <Shown>(path: string) => (await (await ask('GET', path)).json()) as Shown
  const post = async (path: string, body: object = {}) => {
    const answer = await ask('POST', path, body)
    const text = await answer.text()
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${text}`)
    return JSON.parse(text) as { execution_id: string }
  }
  /** Asks after each event, and once a second. */
  const until = async <Found>(look: () => Promise<Found | undefined | false>): Promise<Found> => {
    for (let since = 0; ; since = (await get<{ next_since: number }>(`/events?since=${since}&wait=1`)).next_since) {
      const found = await look()
      if (found !== undefined && found !== false) return found
    }
  }
  const tasks = async () => (await get<{ steps: Step[] }>('/api/operator/steps')).steps
  const place = async () => (await get<{ labware: { place: string }[] }>('/api/labware')).labware[0]!.place
  const thread = async () => (await get<{ threads: { thread_id: string; status: string }[] }>(`/api/executions/${execution}`)).threads[0]!
  // After several kills the service wants somebody to look first.
  const incidents = async () =>
    (await get<{ incidents: { incident_id: string; message: string }[] }>('/api/incidents?acknowledged=false')).incidents
  for (const { incident_id, message } of await incidents())
    if (/safe mode/.test(message)) await post(`/api/incidents/${incident_id}/acknowledge`)
  return { child, ended, ask, post, until, tasks, place, thread, incidents }
}

let execution = ''

/** Has the run begun, whose plate the person is asked to carry. */
async function begun({ post, until, thread, tasks }: Awaited<ReturnType<typeof started>>): Promise<Step> {
  await post('/api/topology/load', { name: 'bench' })
  execution = (await post('/api/submissions', { workflow: 'rounds', run_mode: 'LIVE' })).execution_id
  await until(async () => (await thread()).status === 'AWAITING_MANUAL_PLACE')
  await post(`/api/threads/${(await thread()).thread_id}/placed`)
  return until(async () => (await tasks())[0])
}

const boundaries: { what: string; before?: Answer; last?: Answer; isAwaited?: boolean }[] = [
  { what: 'shown' },
  { what: 'taken, perhaps', last: { answer: 'taken' } },
  { what: 'taken', last: { answer: 'taken' }, isAwaited: true },
  { what: 'done, perhaps', last: { answer: 'done' } },
  { what: 'taken and done, perhaps', before: { answer: 'taken' }, last: { answer: 'done' } },
  { what: 'done', last: { answer: 'done' }, isAwaited: true },
  { what: 'elsewhere, perhaps', last: { answer: 'elsewhere', position: 'c' } },
  { what: 'elsewhere', before: { answer: 'taken' }, last: { answer: 'elsewhere', position: 'c' }, isAwaited: true },
  { what: 'cannot, perhaps', last: { answer: 'cannot' } },
  { what: 'cannot', last: { answer: 'cannot' }, isAwaited: true },
]

/** Where the plate is after an answer. */
function truthAfter({ from, to }: CarryTask, { before, last }: (typeof boundaries)[number]): string {
  const { answer, position } = last ?? before ?? { answer: 'none' }
  return { done: to, elsewhere: position!, taken: 'hands', cannot: from, none: from }[answer]!
}

test('after a kill at each boundary the plate is where it may be, the task is shown again under its id, and what was answered is not asked again', async (t) => {
  const at = await home(t)
  let service = await started(t, at)
  await begun(service)
  for (const boundary of boundaries) {
    const { what, before, last, isAwaited } = boundary
    const { step_id, move } = await service.until(async () => (await service.tasks())[0])
    const path = `/api/operator/steps/${step_id}/confirm`
    if (before) await service.post(path, before)
    const answered = last ? service.post(path, last) : Promise.resolve()
    if (isAwaited) await answered
    answered.catch(() => undefined)
    for (let turns = isAwaited ? 0 : 5; turns > 0; turns--) await new Promise(setImmediate)
    service.child.kill('SIGKILL')
    await service.ended
    service = await started(t, at)
    const truth = truthAfter(move, boundary)
    await service.until(async () => (await service.thread()).status === 'PAUSED')
    const [again, ...others] = await service.tasks()
    const place = await service.place()
    t.same(others, [], what)
    if (isAwaited && last!.answer !== 'taken') t.not(again?.step_id, step_id, `${what}: it is not asked again`)
    if (again?.step_id === step_id) {
      // The service cannot know a place that nobody has named.
      if (truth !== 'c') t.ok(place.includes(truth === 'hands' ? 'held by hands' : `at ${truth}`), `${what}: ${place}`)
      t.match(again.move, { is_again: true, from: move.from, to: move.to }, what)
      await service.post(path, { answer: 'elsewhere', position: truth === 'hands' ? move.from : truth })
    } else if (again) {
      t.match([again.move.from, again.move.is_again], [truth, true], `${what}: the next task`)
      await service.post(`/api/operator/steps/${again.step_id}/confirm`, { answer: 'cannot' })
    } else t.equal(place, `at ${truth}`, what)
    t.match(await service.place(), `at ${truth === 'hands' ? move.from : truth}`)
    await service.post(`/api/executions/${execution}/resume`)
  }
  const { step_id } = await service.until(async () => (await service.tasks())[0])
  service.child.kill('SIGTERM')
  t.match(await service.ended, { code: 0, signal: null }, 'SIGTERM ends the service although a task is open')
  service = await started(t, at)
  t.match(await service.until(async () => (await service.tasks())[0]), { step_id, move: { is_again: true } })
  service.child.kill('SIGTERM')
  t.match(await service.ended, { code: 0, signal: null }, 'also while the task is shown again')
})

test('a person does not leave the configuration while a task is open; one who is gone after a restart is not asked, and somebody has to say where the plate is', async (t) => {
  const at = await home(t)
  const first = await started(t, at)
  const { step_id } = await begun(first)
  const config = { format: 1, listen: { host: '127.0.0.1', port: 0 }, devices: [{ device_id: 'else', driver: 'person' }] }
  writeFileSync(`${at.folder}/config.json`, JSON.stringify(config))
  const refused = await first.ask('POST', '/api/system/reload')
  t.match([refused.status, await refused.text()], [409, /hands is used by execution/])
  t.match(await first.tasks(), [{ step_id }])
  first.child.kill('SIGKILL')
  await first.ended
  const second = await started(t, at)
  t.same(await second.tasks(), [])
  t.equal(await second.place(), 'at a or held by hands or at b')
  t.ok((await second.incidents()).some(({ message }) => /plate/.test(message) && /held by hands/.test(message)))
})
