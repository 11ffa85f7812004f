// The scenarios' common part: a bench whose queue is added to and runs.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { benchOf } from './bench.mjs'
import { load } from './shared.mjs'

const { devices, faultsOf, teachpoints, topology, workflow } = await load('src/testing/queued.js')
const { opened, withBench } = benchOf(devices, ({ ask, granted }) => ({ ask, granted }))

const added = 6

/** Acknowledges `added ID` for each entry whose addition was answered. `spoil` is called before anything is opened for writing. */
export const queueing = (spoil = () => {}) => ({
  async prepare(directory) {
    mkdirSync(`${directory}/topologies`)
    writeFileSync(`${directory}/topologies/queued.json`, JSON.stringify(topology))
    await withBench(directory, async ({ granted }) => {
      await granted('POST', '/api/teachpoints/bulk', teachpoints)
      await granted('POST', '/api/topology/load', { name: 'queued' })
      await granted('PUT', '/api/workflows/shake-queued', workflow)
    })
  },

  async write(directory, acknowledge) {
    await spoil()
    const { granted, close } = await opened(directory)
    for (const { device_id } of devices) await granted('POST', `/api/devices/${device_id}/initialize`)
    await granted('POST', '/api/queue/resume')
    for (let i = 0; i < added; i++) {
      const submission_id = randomUUID()
      await granted('POST', '/api/queue', { submission: { workflow: 'shake-queued', run_mode: 'LIVE', submission_id, priority: i % 3 } })
      await acknowledge(`added ${submission_id}`)
      await sleep(20)
    }
    while ((await granted('GET', '/api/queue')).entries.length > 0) await sleep(20)
    await close()
  },

  async check(directory, acknowledged) {
    const ids = acknowledged.map((text) => text.split(' ')[1])
    const began = Date.now() / 1000
    await withBench(directory, async ({ granted }) => {
      const submissionsOf = async () => (await granted('GET', '/api/submissions?limit=10000')).submissions
      const queue = await granted('GET', '/api/queue')
      const before = await submissionsOf()
      assert.deepEqual(faultsOf(ids, queue, before), [], 'an entry is lost, or has run twice')
      assert.ok(queue.entries.length === 0 || queue.state === 'paused', 'the queue is not paused')
      await sleep(20)
      const { events } = await granted('GET', `/events?since=${began}`)
      const moved = events.filter(({ event_name }) => /^DEVICE_OP\./.test(event_name))
      const names = moved.map(({ event_name, context }) => `${event_name} ${JSON.stringify(context)}`).join(' ')
      assert.ok(names === '', `${names}: something has moved, and nobody has resumed the queue`)
      assert.equal((await submissionsOf()).length, before.length, 'a run has begun, and nobody has resumed the queue')
    })
  },
})
