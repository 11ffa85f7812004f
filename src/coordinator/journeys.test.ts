// Journeys over two benches: real benches, a broker, PostgreSQL and the coordinator, each a process of its own.

import { benchd } from '../testing/cli.ts'
import { holders } from '../testing/journeys.ts'
import { stopOfAll, type TestLab, testLab } from '../testing/lab.ts'
import { withLab } from '../testing/with_lab.ts'
import type { ShownTask } from './coordinator.ts'

/** Waits for the task of that kind of the journey, and confirms all that come before. */
async function taskOf(lab: TestLab, journey_id: string, kind: ShownTask['kind']): Promise<ShownTask> {
  let found: ShownTask | undefined
  const isIt = (task: ShownTask) => task.journey_id === journey_id && task.kind === kind
  await lab.carryUntil(async () => {
    found = (await lab.tasks()).find(isIt)
    return found !== undefined
  }, isIt)
  return found!
}

withLab('a plate is sealed on one bench and spun on the other; one has it at every moment, and the CLI shows it', async (t) => {
  const lab = await testLab(t)
  await lab.coordinator.start()
  const env = { BENCHD_LAB_URL: lab.coordinator.url, BENCHD_LAB_KEY: lab.coordinator.key }
  const run = (...args: string[]) => benchd(lab.folder, ['lab', ...args], env)

  t.match(await run('check', lab.file), { code: 0, stdout: /floor-2 is right: 2 journeys/ })
  let simulated = await run('simulate', 'assay')
  // A bench of a busy computer may take too long for its answer.
  while (/does not answer/.test(simulated.stderr)) simulated = await run('simulate', 'assay')
  t.equal(simulated.stderr, '')
  t.match(simulated, { code: 0, stdout: /^assay {2}\d+:\d\d\n(.*\n)*.*anyone.*\n(.*\n)*prep +seal +completes/ })
  t.match(await run('tasks'), { code: 0, stderr: /nobody has anything to carry/ })
  const started = await run('start', 'assay', 'P-1', '--id', '00000000-0000-4000-8000-000000000001')
  t.match(started, { code: 0, stdout: /^journey 00000000: / })
  t.match(await run('start', 'assay', 'P-1', '--id', '00000000-0000-4000-8000-000000000001'), { code: 0 }, 'again is the same journey')
  t.match(await run('start', 'assay', 'P-1'), { code: 5, stderr: /the labware P-1 is on a journey already/ })
  t.match(await run('start', 'asay', 'P-2'), { code: 3, stderr: /no journey asay; did you mean "assay"/ })
  t.match(await run('start', 'assay', 'a b'), { code: 2, stderr: /labware/ })

  const place = await taskOf(lab, '00000000-0000-4000-8000-000000000001', 'place')
  t.match(place, { bench: 'prep', position: 'pad_1', what: 'Put P-1 at pad_1 of prep.' })
  t.match(await run('why', 'P-1'), { code: 0, stdout: /^P-1 is to be put at pad_1 of prep\nprep: / })
  t.match(await run('confirm', place.task_id, 'P-9'), { code: 5, stderr: /prep: .*wants the plate with the barcode P-1, and P-9 was read/ })
  t.match(await run('confirm', place.task_id, 'P-1'), { code: 0, stdout: /^P-1 stands at pad_1 of prep/ })
  t.match((await run('confirm', place.task_id, 'P-1')).code, /^[35]$/, 'the task is over, or the bench says so')

  await t.test('a wrong barcode at the second bench leaves the labware with its carrier', async (t) => {
    const bring = await taskOf(lab, '00000000-0000-4000-8000-000000000001', 'bring')
    t.match(await run('confirm', bring.task_id, 'P-9'), { code: 5, stderr: /read: .*wants the plate with the barcode P-1/ })
    t.equal((await holders(lab, 'P-1')).at(-1), 'anyone')
    const { incidents } = await lab.read.ask<{ incidents: { category: string }[] }>('GET', '/api/incidents')
    t.ok(incidents.some(({ category }) => category === 'BARCODE_MISMATCH'))
    t.match(await run('custody'), { stdout: /P-1 +anyone / })
  })

  await lab.carryUntil(async () => (await lab.journey('P-1')).outcome === 'done')
  t.same(await holders(lab, 'P-1'), ['prep/pad_1', 'prep/pad_2', 'anyone', 'read/in', 'taken away'])
  t.match(await run('journey', '00000000'), { code: 0, stdout: /done(.*\n)*.*anyone/ })
  t.match(await run('journeys'), { code: 0, stdout: /assay +P-1 +done/ })
  t.match(await run('decide', '00000000', 'end'), { code: 5, stderr: /it has ended/ })

  await t.test('the carrier that never comes is something for a person; nothing is freed, and the person decides', async (t) => {
    await lab.coordinator.kill()
    lab.write((file) => (file.journeys.assay[1].max_wait = 0.1))
    await lab.coordinator.start()
    const id = await lab.begin('assay', 'P-2')
    await taskOf(lab, id, 'take')
    await lab.journeyUntil(id, ({ needs_person }) => needs_person)
    t.match(await lab.journey(id), { phase: 'take', waiting: /waits for longer than 0\.1 s/, decisions: ['lost', 'end'] })
    t.equal((await holders(lab, 'P-2')).at(-1), 'prep/pad_2')
    await taskOf(lab, id, 'bring')
    t.match((await lab.journey(id)).decisions, ['back', 'lost', 'end'])
    t.match(await run('decide', id, 'back'), { code: 0 })
    await taskOf(lab, id, 'take')
    t.same((await holders(lab, 'P-2')).slice(-2), ['anyone', 'prep/out'], 'it is back where the carrier took it')
    t.match(await run('decide', id, 'retry'), { code: 5, stderr: /possible are: lost, end/ })
    await taskOf(lab, id, 'bring')
    t.match(await run('decide', id, 'lost'), { code: 0 })
    await lab.journeyUntil(id, ({ outcome }) => outcome === 'lost')
    t.equal((await holders(lab, 'P-2')).at(-1), 'lost')
    const { executions } = await lab.read.ask<{ executions: { status: string }[] }>('GET', '/api/executions')
    t.notOk(
      executions.some(({ status }) => status === 'IN_PROGRESS'),
      'the position that the second bench kept is given back',
    )
  })

  await t.test('a second coordinator is refused, and all benches are stopped with one command', async (t) => {
    const second = await benchd(lab.folder, ['lab', 'serve', lab.file, '--port', '0', '--data-dir', `${lab.folder}/second`])
    t.match(second, { code: 75, stderr: /another coordinator works with the database .*a lab has one/ })
    const stopped = await run('stop')
    t.match(stopped.stdout + stopped.stderr, stopOfAll)
    await lab.read.kill()
    t.match(await run('stop'), {
      code: 1,
      stderr: /not stopped, or not known to be: (prep \(.*not confirmed.*\); )?read \(.*use its red button/,
    })
    const { incidents } = await lab.prep.ask<{ incidents: object[] }>('GET', '/api/incidents')
    t.ok(incidents.length >= 0)
  })

  await t.test('a lab file that the benches cannot carry out is refused with each place, and nothing is started', async (t) => {
    await lab.read.start()
    await lab.coordinator.kill()
    lab.write((file) => {
      file.journeys.assay[0].workflow = 'seel'
      file.journeys['there-and-back'][0].until = 'pad_1'
      file.carriers.anyone.routes.push(['prep/pad_1', 'read/in'])
      file.journeys['there-and-back'][4].workflow = 'seal'
    })
    const refused = await benchd(lab.folder, ['lab', 'serve', lab.file, '--port', '0', '--data-dir', `${lab.folder}/second`])
    t.equal(refused.code, 78, refused.stderr)
    t.match(refused.stderr, /journeys\.assay\[0\]\.workflow: prep has no workflow seel; did you mean "seal"\?/)
    t.match(refused.stderr, /journeys\.there-and-back\[0\]\.until: pad_1 of prep is no position for hand-over/)
    t.match(await run('check', lab.file), { code: 78, stderr: /no workflow seel/ })
    t.match(await run('tasks'), { code: 69 })
  })
})
