// A service that is killed at each boundary of a move by a bridge: the whereabouts are true, and no motion is repeated.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { Keys } from '../keys/keys.ts'
import { arm, armAt, until, writeProgram } from '../testing/bridges.ts'
import { oneArm, standing, workflowOf } from '../testing/documents.ts'
import { atTheEnd } from '../testing/http.ts'
import { withPython } from '../testing/python.ts'

type Body = Record<string, unknown>

/** The service as a process of its own, with a run of one plate, which `kill` ends and `start` starts again. */
async function killable(t: Test) {
  const folder = t.testdir({ data: {}, topologies: {} })
  const data_dir = `${folder}/data`
  mkdirSync(`${folder}/bridge`)
  const path = writeProgram(`${folder}/bridge`, arm)
  const shaker = { device_id: 'shaker-1', driver: 'bioshake', transport: { kind: 'simulated' } }
  const config = { format: 1, listen: { host: '127.0.0.1', port: 0 }, time_scale: 100, devices: [armAt(path), shaker] }
  const topology = oneArm({ name: 'bridged', arm: 'arm-9', pads: ['pad'], nests: { shaker_in: 'shaker-1' } })
  const shake = { do: 'shake', on: 'shaker-1', with: { speed: 500, duration: 5 } }
  const plate = { ...standing('pad'), steps: [{ method: 'shake_it' }] }
  const workflow = workflowOf('carry-it', { plate }, { topology: 'bridged', methods: { shake_it: [shake] } })
  writeFileSync(`${folder}/config.json`, JSON.stringify(config))
  writeFileSync(`${folder}/topologies/bridged.json`, JSON.stringify(topology))
  const keys = await Keys.open({ folder: data_dir, report: () => undefined })
  const { api_key } = await keys.create({ name: 'test', scope: 'admin' })
  keys.close()
  let child: ChildProcess | undefined
  let port = 0
  const start = async () => {
    // Too many that broke off would be a reason for safe mode.
    rmSync(`${data_dir}/starts.json`, { force: true })
    const main = fileURLToPath(new URL('../../bundle/main.js', import.meta.url))
    child = spawn(process.execPath, [main, 'serve', '--config', `${folder}/config.json`, '--data-dir', data_dir], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    for await (const line of createInterface({ input: child.stdout! })) {
      port = Number(/http:\/\/[\d.]+:(\d+)/.exec(line)?.[1] ?? 0)
      if (port) break
    }
    child.stdout!.resume()
  }
  const kill = async () => {
    const ended = once(child!, 'exit')
    child!.kill('SIGKILL')
    await ended
  }
  atTheEnd(t).push(async () => void child?.kill('SIGKILL'))
  const ask = async (method: string, url: string, json?: object) => {
    const headers = { 'X-API-Key': api_key, 'Content-Type': 'application/json' }
    const reply = await fetch(`http://127.0.0.1:${port}${url}`, { method, headers, ...(json && { body: JSON.stringify(json) }) })
    return { status: reply.status, body: (await reply.json()) as Body }
  }
  /** Asks until the answer is good: a service that has just started may still open its runs. */
  const granted = (method: string, url: string, json?: object) =>
    until(async () => {
      const { status, body } = await ask(method, url, json)
      return status <= 202 ? body : undefined
    })
  const log = () => (existsSync(`${path}.log`) ? readFileSync(`${path}.log`, 'utf8').trim().split('\n') : [])
  await start()
  await until(async () => ((await granted('GET', '/api/devices/arm-9')) as { identity: object | null }).identity)
  await granted('POST', '/api/topology/load', { name: 'bridged' })
  await granted('PUT', '/api/workflows/carry-it', workflow)
  return { path, start, kill, ask, granted, log }
}

const between = 'at pad or held by arm-9'
const either = `${between} or at shaker_in`

for (const { boundary, place, truth } of [
  { boundary: 'pick begins', place: between, truth: 'pad' },
  { boundary: 'pick ends', place: between, truth: 'pad' },
  { boundary: 'place begins', place: either, truth: 'pad' },
  { boundary: 'place ends', place: either, truth: 'shaker_in' },
])
  withPython(`a service that is killed when ${boundary} knows where the labware may be, and moves nothing again by itself`, async (t) => {
    const { path, start, kill, ask, granted, log } = await killable(t)
    writeFileSync(`${path}.hold`, boundary)
    const { execution_id } = await granted('POST', '/api/submissions', { workflow: 'carry-it', run_mode: 'LIVE' })
    const execution = `/api/executions/${execution_id}`
    const { threads } = (await granted('GET', execution)) as { threads: { thread_id: string }[] }
    await granted('POST', `/api/threads/${threads[0]!.thread_id}/placed`, {})
    await until(() => log().includes(boundary))
    await kill()
    const before = log()
    rmSync(`${path}.hold`)
    await start()
    const labware = async () => ((await granted('GET', '/api/labware')) as { labware: { labware_id: string }[] }).labware
    t.match(await labware(), [{ place }])
    await granted('POST', '/api/devices/arm-9/initialize')
    t.match(await ask('POST', `${execution}/resume`), { status: 409 }, 'nobody has said where it is')
    t.match(await labware(), [{ place }])
    t.same(log().slice(before.length), ['home'], 'nothing is picked or placed')

    // Somebody empties the gripper, and says where the labware is.
    writeFileSync(`${path}.gripper`, 'empty')
    const [{ labware_id } = { labware_id: '' }] = await labware()
    await granted('PUT', `/api/labware/${labware_id}/location`, { position: truth })
    await granted('POST', `${execution}/resume`)
    await until(async () => ((await granted('GET', execution)) as { status: string }).status === 'COMPLETED')
    t.match(await labware(), [{ place: 'at pad' }])
    const picks = log()
      .slice(before.length)
      .filter((line) => /^(pick|place) (pad|shaker_in)$/.test(line))
    const back = ['pick shaker_in', 'place pad']
    t.same(picks, truth === 'pad' ? ['pick pad', 'place shaker_in', ...back] : back)
  })
