import { test } from 'tap'
import { topologyWith } from '../../testing/plans.ts'
import { type Doing, type Given, workflow } from './author.ts'
import { compileWorkflow } from './compile.ts'

/** Never called: what the types know of a context. */
async function body(ctx: Doing<'plate'>): Promise<void> {
  const { success, message } = await ctx.device.shake({ speed: 500, duration: 5 })
  await ctx.device.lock_plate()
  await ctx.device.peel()
  await ctx.emit('qc.done', success ? 'complete' : 'failed', { message, id: ctx.labware.plate.labware_id })
  const { temperature } = await ctx.device.get_temperature()
  const { value } = await ctx.waitFor('go', { timeout: temperature })
  await ctx.instruct(`look: ${value}`)
  // @ts-expect-error a shake has a speed
  await ctx.device.shake({ duration: 5 })
  // @ts-expect-error nobody knows it
  await ctx.device.dance()
  // @ts-expect-error no such labware is there
  ctx.labware.tips.name
}

/** Never called: a function beside the document names the variables. */
export async function beside(ctx: Doing<'plate', { speed: { default: number } }>): Promise<void> {
  await ctx.device.shake({ speed: ctx.variable('speed'), duration: 5 })
}

test('a variable has the type of its default in the code of a workflow', async (t) => {
  const start = { at: 'pad_1' }
  const document = workflow({
    format: 1,
    name: 'typed',
    topology: 'demo',
    labware: { plate: { type: '96-well' } },
    variables: { speed: { default: 500 }, target: { default: 37, nullable: true }, note: {} },
    methods: {
      shake_it: [
        {
          name: 'shake',
          on: 'shakers',
          body: async (ctx) => {
            await ctx.device.shake({ speed: ctx.variable('speed'), duration: 5 })
            await ctx.device.set_temperature({ temperature: ctx.variable('target') })
            // @ts-expect-error it may be null
            await ctx.device.shake({ speed: ctx.variable('target'), duration: 5 })
            // @ts-expect-error no default says what it is
            await ctx.instruct(ctx.variable('note'))
            // @ts-expect-error there is no such variable
            ctx.variable('speeed')
          },
        },
      ],
    },
    threads: { plate: { labware: 'plate', start, end: { at: ['pad_1'] }, steps: [{ method: 'shake_it' }] } },
    start: ['plate'],
  })
  t.ok(compileWorkflow(document, topologyWith(), 'x', 'typescript').hasCode)
})

test('the types know the names of a document; what is written with them is what the loader takes', async (t) => {
  const document = workflow({
    format: 1,
    name: 'typed',
    topology: 'demo',
    labware: { plate: { type: '96-well' } },
    variables: { speed: { default: 500 } },
    methods: {
      shake_it: [
        { do: 'shake', on: 'shakers', with: { speed: { variable: 'speed' }, duration: 5 } },
        { name: 'look', on: 'shakers', body },
      ],
    },
    threads: { plate: { labware: 'plate', start: { at: 'pad_1' }, end: { at: ['pad_1'] }, steps: [{ method: 'shake_it' }] } },
    start: ['plate'],
    on: { 'THREAD.COMPLETED': [(name, context) => void [name, context.thread_id]] },
  })
  t.ok(compileWorkflow(document, topologyWith(), 'x', 'typescript').hasCode)
  workflow({
    ...document,
    // @ts-expect-error there is no such thread
    start: ['plates'],
  })
  workflow({
    ...document,
    methods: {
      // @ts-expect-error there is no such labware
      shake_it: [{ do: 'shake', on: 'shakers', labware: ['plat'] }],
    },
  })
  const thread = { labware: 'plate', start: { at: 'pad_1' }, end: { at: ['pad_1'] } } as const
  // @ts-expect-error there is no such method
  workflow({ ...document, threads: { plate: { ...thread, steps: [{ method: 'shak_it' }] } } })
  // @ts-expect-error there is no such method
  workflow({ ...document, threads: { plate: { ...thread, steps: [{ branch: 'x', cases: { y: [{ method: 'shak_it' }] } }] } } })
  // @ts-expect-error nobody knows this step
  workflow({ ...document, threads: { plate: { ...thread, steps: [{ mehtod: 'shake_it' }] } } })
})

test('a value may be an array or an object, with variables inside', (t) => {
  const values: Record<string, Given<'speed'>> = {
    wells: ['A1', { variable: 'speed' }],
    plate: { name: 'x', rows: [{ variable: 'speed' }] },
    // @ts-expect-error there is no such variable
    wrong: [{ variable: 'sped' }],
    // @ts-expect-error there is no such variable
    deep: { name: { variable: 'sped' } },
  }
  t.ok(values)
  t.end()
})
