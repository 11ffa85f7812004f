// Actions that are code, where the power is cut in the midst of them.

import { test } from 'tap'
import type { DeviceInfo, OperationRecord } from '../devices/records.ts'
import { noTypeScript } from '../kit/modules.test.typescript.ts'
import { beginRun, plateRun, type Scripted, seal, shake } from '../testing/http_runs.ts'

/** An action that is data, one that is code and calls the shaker twice, and one that is data again. */
const coded = `
  export default {
    ...${JSON.stringify(plateRun([{ method: 'all' }], { methods: undefined }))},
    methods: {
      all: [
        ${JSON.stringify({ ...shake, with: { speed: 400, duration: 60 } })},
        {
          name: 'warm_up',
          on: 'shaker-1',
          async body(ctx) {
            await ctx.device.shake({ speed: 500, duration: 60 })
            await ctx.emit('half.done')
            await ctx.device.shake({ speed: 600, duration: 60 })
          },
        },
        ${JSON.stringify(seal)},
      ],
    },
  }`

/** Resolves when the shaker shakes at this speed. */
async function shakesAt(run: Scripted, speed: number): Promise<void> {
  await run.until(`shaking at ${speed}`, async () => (await shaking(run)) === speed, 100)
}

async function shaking(run: Scripted): Promise<unknown> {
  const { operation } = await run.get<DeviceInfo>('/api/devices/shaker-1')
  if (operation?.name !== 'shake') return undefined
  return (await run.get<OperationRecord>(`/api/operations/${operation.operation_id}`)).params.speed
}

async function count(run: Scripted, event: RegExp): Promise<number> {
  return (await run.events()).filter(({ event_name, context }) => event.test(`${event_name} ${context.action_name}`)).length
}

/** Cut while the code is in its second call. */
async function cut(t: Parameters<typeof beginRun>[0]): Promise<Scripted> {
  const before = await beginRun(t, { workflow: coded })
  await shakesAt(before, 600)
  return before.afterPowerCut()
}

test('an action that is code is begun anew as a whole after a restart, and what its method has done is not', {
  skip: noTypeScript,
}, async (t) => {
  const run = await cut(t)
  t.match(await run.thread('plate', 'PAUSED'), { waiting: { what: /in the midst of warm_up: resume it, which does that again/ } })
  await run.post('/api/devices/shaker-1/initialize')
  await run.post(`/api/executions/${run.execution_id}/resume`)
  await run.does('shaker-1', 'shake')
  t.equal(await shaking(run), 500, 'it begins with its first call')
  t.equal(await count(run, /^CUSTOM\.half_done/), 1)
  await shakesAt(run, 600)
  t.equal(await run.over(), 'COMPLETED')
  t.equal(await count(run, /^CUSTOM\.half_done/), 2)
  t.equal(await count(run, /^ACTION.*COMPLETED shake$/), 1)
  t.equal(await count(run, /^ACTION.*ABORTED warm_up$/), 1)
  t.equal(await count(run, /^ACTION.*COMPLETED warm_up$/), 1)
  t.equal(await count(run, /^ACTION.*COMPLETED seal$/), 1)
})

test('code that somebody takes for done is not begun again', { skip: noTypeScript }, async (t) => {
  const run = await cut(t)
  const { thread_id } = await run.thread('plate', 'PAUSED')
  await run.post('/api/devices/shaker-1/initialize')
  t.equal((await run.recover(thread_id, 'CONTINUE')).status, 200)
  await run.post(`/api/executions/${run.execution_id}/resume`)
  t.equal(await run.over(), 'COMPLETED')
  t.equal(await count(run, /^CUSTOM\.half_done/), 1)
  t.equal(await count(run, /^ACTION.*COMPLETED seal$/), 1)
})
