// A coordinator that ends, is away, or whose database or workflow engine lets a journey down: real processes.

import { setTimeout as sleep } from 'node:timers/promises'
import { benchd, running } from '../testing/cli.ts'
import { until } from '../testing/fleet.ts'
import { stopOfAll, testLab } from '../testing/lab.ts'
import { withLab } from '../testing/with_lab.ts'
import { Store } from './store.ts'

withLab(
  'a coordinator ends without a word too many, all benches are stopped without it, and a journey that was given up is told',
  async (t) => {
    const lab = await testLab(t)
    await lab.coordinator.start()
    const env = { BENCHD_LAB_URL: lab.coordinator.url, BENCHD_LAB_KEY: lab.coordinator.key }
    const run = (...args: string[]) => benchd(lab.folder, ['lab', ...args], env)
    const journey_id = await lab.begin('assay', 'P-1')
    await lab.carryUntil(
      async () => (await lab.tasks()).some(({ kind }) => kind === 'place'),
      () => true,
    )

    await t.test('the page shows when each bench was heard', async (t) => {
      let heard: (number | null)[] = []
      while (heard.length === 0 || heard.includes(null)) {
        const { benches } = await lab.ask<{ benches: { heard_s: number | null }[] }>('GET', '/api/lab')
        heard = benches.map(({ heard_s }) => heard_s)
        await sleep(50)
      }
      t.ok(
        heard.every((s) => s! >= 0 && s! < 35),
        String(heard),
      )
    })

    await t.test('SIGTERM during a journey ends it quietly', async (t) => {
      const before = lab.coordinator.words.length
      t.equal(await lab.coordinator.end(), 0)
      const words = lab.coordinator.words.slice(before)
      t.match(words, [/SIGTERM: ending/, /audit: line/])
      t.equal(words.length, 2, words.join('\n'))
    })

    await t.test('benches are stopped where the coordinator is away', async (t) => {
      const stopped = await run('stop', lab.file)
      t.match(stopped.stderr, /the benches are asked from here/)
      t.match(stopped.stdout + stopped.stderr, stopOfAll)
      await lab.read.kill()
      t.match(await run('stop', lab.file), { code: 1, stderr: /not stopped, or not known to be: .*read \(.*use its red button/ })
      t.match(await run('stop', `${lab.folder}/no.json`), { code: 78, stderr: /no\.json/ })
      await lab.read.start()
    })

    await t.test('a journey that DBOS has given up is told, and a person has it go on', async (t) => {
      const give = async (status: string) => {
        const store = await Store.open(lab.database.url)
        const text = 'UPDATE benchd_lab_dbos.workflow_status SET status = $1 WHERE workflow_uuid = $2'
        t.equal((await store.pool.query(text, [status, journey_id])).rowCount, 1)
        store.close()
      }
      for (const status of ['MAX_RECOVERY_ATTEMPTS_EXCEEDED', 'ERROR']) {
        await give(status)
        await lab.coordinator.start()
        t.match(await lab.journey(journey_id), {
          needs_person: true,
          waiting: new RegExp(`nobody carries this journey out: DBOS has it as ${status}`),
          decisions: ['retry', 'lost', 'end'],
        })
        t.match(await run('why', 'P-1'), {
          stdout: /nobody carries this journey out(.*\n)*.*decide \(.*retry.*\): benchd lab decide \w+ DECISION/,
        })
        t.match(await run('decide', 'P-1', 'retry'), { code: 0 })
        await lab.carryUntil(
          async () => (await lab.tasks()).some(({ kind }) => kind === 'place'),
          () => true,
        )
        if (status !== 'ERROR') await lab.coordinator.kill()
      }
      await lab.carryUntil(
        async () => (await lab.tasks()).some(({ kind }) => kind === 'take'),
        ({ kind }) => kind === 'take',
      )
    })

    await t.test('while the database is away no stack is printed, and benches can be stopped and are shown', async (t) => {
      const before = lab.coordinator.words.length
      await lab.database.kill()
      await until(() => !lab.coordinator.isRunning)
      const words = lab.coordinator.words.slice(before).join('\n')
      t.match(words, /PostgreSQL is gone/)
      t.notMatch(words, /"cause"|\n\s+at /)
      const port = new URL(lab.coordinator.url).port
      const data = ['--port', port, '--data-dir', `${lab.folder}/coordinator`]
      const service = running(t, lab.folder, ['lab', 'serve', lab.file, ...data])
      await service.line(/PostgreSQL does not answer/)
      const stopped = await run('stop')
      t.match(stopped.stdout + stopped.stderr, stopOfAll)
      t.notMatch(stopped.stderr, /asked from here/)
      t.match(await lab.ask('GET', '/api/lab'), { answered: 200, benches: [{ bench: 'prep', status: /ok|degraded/ }, { bench: 'read' }] })
      t.match(await lab.ask('GET', '/api/lab/tasks'), { answered: 503, detail: /PostgreSQL does not answer/ })
      service.child.kill('SIGTERM')
      t.match(await service.ended, { code: 0, stderr: '' })
      await lab.database.start()
      await lab.coordinator.start()
    })

    await t.test('a journey ends also where the bench that keeps a position for it is away, which gives it back later', async (t) => {
      await lab.carryUntil(
        async () => (await lab.tasks()).some(({ kind }) => kind === 'take'),
        ({ kind }) => kind === 'take',
      )
      await lab.read.kill()
      t.match(await run('decide', 'P-1', 'end'), { code: 0 })
      await lab.journeyUntil(journey_id, ({ outcome }) => outcome !== null)
      t.match(await lab.journey(journey_id), { outcome: 'ended', status: 'ended' })
      await lab.read.start()
      const open = async () => (await lab.read.ask<{ executions: object[] }>('GET', '/api/executions?status=IN_PROGRESS')).executions.length
      await until(async () => (await open()) === 0)
      t.pass('read keeps nothing for it any more')
    })
  },
)
