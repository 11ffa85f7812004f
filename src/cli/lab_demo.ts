// `benchd lab demo`: two simulated benches and a broker, in folders that go with the command.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { asTyped } from '../kit/as_typed.ts'
import { makeThrowAwayFolder, removeFolder } from '../kit/folder.ts'
import { log } from '../kit/log.ts'
import { answering, freePort } from '../kit/ports.ts'
import { CliError, exitCodes } from './exit.ts'
import { goOnUnread, signalled } from './serve.ts'
import { note } from './terminal.ts'

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
    const benches: Served[] = []
    for (const [i, name] of names.entries()) {
      const bench = await serve(name, { folder: `${folder}/${name}`, port: port === 0 ? await freePort() : port + i, server })
      closing.push(() => bench.close())
      benches.push(bench)
    }
    process.stdout.write(asTyped(welcome(benches, server, broker.pid)))
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
  const [{ startService }, { demoConfig, prepareDemo }] = await Promise.all([import('../main.ts'), import('../examples/demo.ts')])
  const url = `http://127.0.0.1:${port}`
  const config = {
    ...(await demoConfig(16)),
    system_id: name,
    listen: { host: '127.0.0.1', port, tls: null },
    fleet: { servers: [server], lab: 'demo', name, url },
  }
  const service = await startService(config, { data_dir: folder, log: log(process.stdout) })
  return { name, url, api_key: await prepareDemo(service.lab), close: () => service.close() }
}

async function stopped(broker: ChildProcess): Promise<void> {
  broker.removeAllListeners('exit')
  if (broker.exitCode !== null || broker.signalCode !== null) return
  const ended = once(broker, 'exit')
  broker.kill('SIGTERM')
  await ended
}

function welcome(benches: readonly Served[], server: string, pid: number | undefined): string {
  const [first] = benches
  const pages = benches.map(({ name, url, api_key }) => `  ${name.padEnd(8)}  ${url}/#k=${api_key}`)
  return `
DEMO: two simulated benches and a broker; nothing moves, and all of it goes with Ctrl-C.

${pages.join('\n')}
  broker    ${server}

Three things to try, in a second terminal:

1. See who is there, also on the page under System, "Benches of the lab":

  export BENCHD_URL=${first?.url} BENCHD_API_KEY=${first?.api_key}
  benchd lab status

2. Read the events of both benches, and start a run on the page of one of them:

  benchd lab events --follow --server ${server}

3. Kill the broker. Both benches go on, and lab status says how many events wait:

  kill -9 ${pid}

`
}
