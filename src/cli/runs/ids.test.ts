// Runs, threads, labware and steps are named by the beginning of an id, by a name, or by a place.

import { writeFileSync } from 'node:fs'
import { test } from 'tap'
import { demo, patient } from '../../testing/cli.ts'

type Shown = { threads: { thread_id: string; position: string | null }[] }
const waits = patient([{ branch: 'go', cases: { ask: [{ method: 'ask' }] } }])

test('a run is named by its workflow, a thread by its name or place, a step by its thread, labware by name, place or id', async (t) => {
  const { home, run, json, until } = await demo(t)
  writeFileSync(`${home}/workflow.json`, JSON.stringify(waits))
  await run('workflows', 'put', `${home}/workflow.json`)
  const id = (await run('runs', 'submit', 'patient')).stdout.trim()
  await until<Shown>(`/api/executions/${id}`, ({ threads }) => threads[0]?.position === 'pad_1')
  t.equal((await json<{ execution_id: string }>('runs', 'show', 'patient')).execution_id, id)
  for (const word of ['plate', 'pad_1']) {
    t.match(await run('runs', 'pause-thread', word), { code: 0 }, word)
    t.match(await run('runs', 'resume-thread', word), { code: 0 }, word)
  }
  const { labware } = await json<{ labware: { labware_id: string; name: string }[] }>('labware', 'list')
  t.equal(labware.length, 1)
  const { labware_id, name } = labware[0]!
  t.match((await run('labware', 'list')).stdout, new RegExp(`\\n${labware_id.slice(0, 8)} +${name} `))
  for (const word of [labware_id, labware_id.slice(0, 8), name, 'pad_1']) {
    t.match((await run('labware', 'put', word, 'pad_1')).stderr, /^(?!.*there is no labware)/, `${word} is known`)
  }
  t.match(await run('labware', 'put', 'ghost', '--off'), { code: 3, stderr: /there is no labware "ghost"; see: benchd labware list/ })
  await run('runs', 'emit', 'patient', 'go', 'ask')
  await until<{ steps: object[] }>('/api/operator/steps', ({ steps }) => steps.length === 1)
  const { steps } = await json<{ steps: { step_id: string }[] }>('runs', 'steps')
  t.equal((await run('labware', 'list')).stderr, '', 'a thread moves it')
  t.match(await run('runs', 'confirm', steps[0]!.step_id), { code: 0 })
  await until<{ status: string }>(`/api/executions/${id}`, ({ status }) => status === 'COMPLETED')
  const [short, run8] = [labware_id.slice(0, 8), id.slice(0, 8)]
  t.match(
    (await run('labware', 'list')).stderr,
    `no thread moves plate, at pad_1 since run ${run8}; to clear it, take it away, and say so: `,
  )
  t.match((await run('labware', 'list')).stderr, `benchd labware put ${short} --off\n`)
  t.match(await run('labware', 'put', short, '--off'), { code: 0 })
  t.equal((await run('labware', 'list')).stderr, 'benchd: no labware is on the bench\n')
})

test('a word that can mean several is refused with the candidates', async (t) => {
  const { home, run, until } = await demo(t)
  writeFileSync(`${home}/workflow.json`, JSON.stringify(waits))
  await run('workflows', 'put', `${home}/workflow.json`)
  const ids: string[] = []
  for (let i = 0; i < 2; i++) ids.push((await run('runs', 'submit', 'patient', '--mode', 'DEVICE_SIM')).stdout.trim())
  await until<{ executions: object[] }>('/api/executions?status=IN_PROGRESS', ({ executions }) => executions.length === 2)
  const refused = await run('runs', 'pause', 'patient')
  t.match(refused, { code: 2, stderr: /patient can mean more than one run: .*; write one of these ids/ })
  for (const id of ids) t.match(refused.stderr, `${id.slice(0, 8)} (patient)`)
  t.match(await run('runs', 'pause', ids[0]!.slice(0, 8)), { code: 0 })
})
