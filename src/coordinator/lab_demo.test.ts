// The demo of a lab: one command, two benches that know each other, the events of both, and nothing left behind.

import { randomUUID } from 'node:crypto'
import { test } from 'tap'
import { benchd, running } from '../testing/cli.ts'
import { until } from '../testing/fleet.ts'
import { withLab } from '../testing/with_lab.ts'

withLab('one command runs a lab: each bench shows both, their events are read together, and a journey begins', async (t) => {
  const home = t.testdir({})
  const demo = running(t, home, ['lab', 'demo', '--port', '0'])
  const url = await demo.line(/^ {2}prep +(http:\S+)\/#k=/)
  const key = await demo.line(/^ {2}export BENCHD_URL=\S+ BENCHD_API_KEY=(\S+)/)
  t.match(url, /^http:\/\/127\.0\.0\.1:\d+$/)
  const [labUrl, labKey] = (await demo.line(/^ {2}export BENCHD_LAB_URL=(\S+ BENCHD_LAB_KEY=\S+)/)).split(' BENCHD_LAB_KEY=')
  demo.child.stdout.resume()
  const lab = async () => (await (await fetch(`${url}/api/lab`, { headers: { 'X-API-Key': key } })).json()) as Lab
  await until(async () => (await lab()).benches.filter(({ state }) => state === 'here').length === 2)
  const { link, benches } = await lab()
  t.match(link, { lab: 'demo', name: 'prep', state: 'connected', failure: null })
  t.same(
    benches.map(({ name }) => name),
    ['prep', 'read'],
  )
  await until(async () => (await lab()).link.waiting === 0)
  const events = running(t, home, ['lab', 'events', '--json', '--server', link.servers[0]!])
  events.child.stdout.resume()
  t.match(await events.ended, { code: 0, stderr: '' })

  const env = { BENCHD_LAB_URL: labUrl!, BENCHD_LAB_KEY: labKey! }
  const ofLab = async (...args: string[]) => JSON.parse((await benchd(home, ['lab', ...args, '--json'], env)).stdout)
  // On a busy computer the coordinator may answer too late. The test then repeats the request, whose id starts one journey only.
  const id = randomUUID()
  const start = () => ofLab('start', 'assay', 'P-1', '--id', id)
  let started = await start()
  for (let left = 10; started.name === undefined && left > 0; left--) started = await start()
  t.match(started, { name: 'assay', labware: 'P-1' })
  t.equal((await ofLab('journeys')).journeys.length, 1)
  await until(async () => (await ofLab('tasks')).tasks?.length === 1)
  const { tasks } = await ofLab('tasks')
  t.match(await ofLab('confirm', tasks[0].task_id, 'P-1'), { success: true })
  await until(async () => (await ofLab('custody')).custody?.[0]?.holder.bench === 'prep')
  demo.child.kill('SIGTERM')
  t.match(await demo.ended, { code: 0, stderr: '' })
})

type Lab = {
  link: { lab: string; name: string; state: string; failure: string | null; waiting: number; servers: string[] }
  benches: { name: string; state: string }[]
}

test('without a broker the demo says what to install', async (t) => {
  const home = t.testdir({ bin: {} })
  const { ended } = running(t, home, ['lab', 'demo', '--port', '0'], { PATH: `${home}/bin` })
  t.match(await ended, { code: 1, stderr: /needs nats-server, which is not installed here: sudo apt install nats-server/ })
})
