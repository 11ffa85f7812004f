// `benchd lab demo`: two simulated benches, a broker, PostgreSQL and the coordinator, in folders that are removed when the command ends.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { ask } from '../cli/client.ts'
import { CliError, exitCodes } from '../cli/exit.ts'
import { goOnUnread, signalled } from '../cli/serve.ts'
import { note } from '../cli/terminal.ts'
import { asTyped } from '../kit/as_typed.ts'
import { createSynced } from '../kit/durable.ts'
import { makeThrowAwayFolder, removeFolder } from '../kit/folder.ts'
import { log } from '../kit/log.ts'
import { answering, freePort } from '../kit/ports.ts'
import { startPostgres } from './local_postgres.ts'

const names = ['prep', 'read'] as const
type Served = { name: string; url: string; api_key: string; close(): Promise<void> }

/** Runs until a signal ends it. `port` is that of the first bench, 0 for free ones. */
export async function labDemo(port: number): Promise<number> {
  const ended = signalled()
  goOnUnread()
  const folder = await makeThrowAwayFolder('benchd-lab')
  const closing: (() => unknown)[] = [() => removeFolder(folder)]
  try {
    const { broker, server } = await startBroker(folder)
    closing.push(() => stopped(broker))
    broker.once('exit', () => note('the broker has ended; the benches go on without it'))
    const database = await startPostgres()
    closing.push(() => database.close())
    const benches: Served[] = []
    for (const [i, name] of names.entries()) {
      const bench = await serve(name, { folder: `${folder}/${name}`, port: port === 0 ? await freePort() : port + i, server })
      closing.push(() => bench.close())
      benches.push(bench)
    }
    const coordinator = await startCoordinator(benches, {
      folder,
      database: database.url,
      server,
      port: port === 0 ? await freePort() : port + names.length,
    })
    closing.push(() => coordinator.close())
    process.stdout.write(asTyped(welcome(benches, { server, broker: broker.pid, coordinator })))
    return (await ended) === 'SIGINT' ? exitCodes.interrupted[0] : exitCodes.ok[0]
  } finally {
    for (const close of closing.reverse()) await close()
  }
}

async function startBroker(folder: string): Promise<{ broker: ChildProcess; server: string }> {
  const port = await freePort()
  const broker = spawn('nats-server', ['-js', '-sd', `${folder}/broker`, '-a', '127.0.0.1', '-p', String(port)], { stdio: 'ignore' })
  const failed = once(broker, 'error').then(([error]) => Promise.reject(error))
  const gone = once(broker, 'exit').then(() => Promise.reject(new Error('it ended at once')))
  const given_up = new AbortController()
  try {
    await Promise.race([answering(port, given_up.signal), failed, gone])
  } catch (error) {
    given_up.abort()
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    throw new CliError('failed', 'the demo of a lab needs nats-server, which is not installed here: sudo apt install nats-server', {
      cause: error,
    })
  }
  for (const late of [failed, gone]) late.catch(() => undefined)
  const { setUp } = await import('../fleet/setup.ts')
  const server = `nats://127.0.0.1:${port}`
  // The broker listens before its streams can be made.
  for (let tries = 1; ; tries++) {
    try {
      await setUp({ servers: [server], name: 'setup' })
      return { broker, server }
    } catch (error) {
      if (tries === 50) throw error
      await sleep(100)
    }
  }
}

type Place = { folder: string; port: number; server: string }

async function serve(name: string, { folder, port, server }: Place): Promise<Served> {
  const [{ startService }, { demoConfig }, { labTopology, labWorkflows, prepareLabBench }] = await Promise.all([
    import('../main.ts'),
    import('../examples/demo.ts'),
    import('../examples/lab_benches.ts'),
  ])
  const url = `http://127.0.0.1:${port}`
  const config = {
    ...(await demoConfig(16)),
    system_id: name,
    listen: { host: '127.0.0.1', port, tls: null },
    fleet: { servers: [server], lab: 'demo', name, url },
  }
  const topologies = `${folder}/topologies`
  for (const document of [labTopology, ...labWorkflows]) await write(`${topologies}/${document.name}.json`, JSON.stringify(document))
  const service = await startService(config, { data_dir: `${folder}/data`, topologies, log: log(process.stdout, true) })
  return { name, url, api_key: await prepareLabBench(service.bench), close: () => service.close() }
}

function write(path: string, text: string): Promise<void> {
  return createSynced(path, text, { mode: 0o600 })
}

type Lab = { folder: string; database: string; server: string; port: number }
type Coordinator = { url: string; api_key: string; pid(): number | undefined; close(): Promise<void> }

/** Runs the coordinator as a process of its own and restarts it when it ends, so that a user can kill it and watch the recovery. */
async function startCoordinator(benches: readonly Served[], { folder, database, server, port }: Lab): Promise<Coordinator> {
  const { labFileOf } = await import('../examples/lab_benches.ts')
  const file = `${folder}/lab.json`
  for (const { name, api_key } of benches) await write(`${folder}/keys/${name}.key`, api_key)
  await write(file, JSON.stringify(labFileOf({ database, server, benches: placesOf(benches) }), undefined, 2))
  const data = `${folder}/coordinator`
  let isClosing = false
  let child: ChildProcess
  const start = () => {
    child = spawn(process.execPath, [process.argv[1]!, 'lab', 'serve', file, '--port', String(port), '--data-dir', data], {
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    child.stdout!.pipe(process.stdout, { end: false })
    child.stderr!.pipe(process.stderr, { end: false })
    child.once('exit', () => {
      if (!isClosing) setTimeout(() => isClosing || start(), again_ms)
    })
  }
  start()
  const isReady = () =>
    ask({ socket_of: data }, 'GET', '/health').then(
      () => true,
      () => false,
    )
  while (!(await isReady())) await sleep(again_ms)
  const { api_key } = await ask<{ api_key: string }>({ socket_of: data }, 'POST', '/api/keys', { name: 'the demo', scope: 'admin' })
  return {
    url: `http://127.0.0.1:${port}`,
    api_key,
    pid: () => child.pid,
    async close() {
      isClosing = true
      await stopped(child)
    },
  }
}

const again_ms = 500

function placesOf(benches: readonly Served[]) {
  const [prep, read] = benches.map(({ name, url }) => ({ name, url }))
  return { prep: prep!, read: read! }
}

async function stopped(broker: ChildProcess): Promise<void> {
  broker.removeAllListeners('exit')
  if (broker.exitCode !== null || broker.signalCode !== null) return
  const ended = once(broker, 'exit')
  broker.kill('SIGTERM')
  await ended
}

type Around = { server: string; broker: number | undefined; coordinator: Coordinator }

function welcome(benches: readonly Served[], { server, broker, coordinator }: Around): string {
  const [first] = benches
  const pages = benches.map(({ name, url, api_key }) => `  ${name.padEnd(11)}  ${url}/#k=${api_key}`)
  return `
DEMO: two simulated benches, a broker, PostgreSQL and the coordinator of the lab; nothing moves, and all of it goes with Ctrl-C.

${pages.join('\n')}
  broker       ${server}
  coordinator  ${coordinator.url}/#k=${coordinator.api_key}

Four things to try, in a second terminal:

1. See who is there, also on the page under System, "Benches of the lab":

  export BENCHD_URL=${first?.url} BENCHD_API_KEY=${first?.api_key}
  benchd lab status

2. Send a plate on a journey: it is sealed on prep and spun on read. You are its carrier: confirm each task as it comes, with the barcode where the plate is put down, on the page of
the coordinator, or so:

  export BENCHD_LAB_URL=${coordinator.url} BENCHD_LAB_KEY=${coordinator.api_key}
  benchd lab simulate assay
  benchd lab start assay P-1
  benchd lab tasks
  benchd lab confirm TASK P-1
  benchd lab journey P-1
  benchd lab custody P-1

3. Read the events of both benches:

  benchd lab events --follow --server ${server}

4. Kill the broker, or the coordinator, while the plate is under way. Both benches go on, and so does the journey:

  kill -9 ${broker}
  kill -9 ${coordinator.pid()}

`
}
