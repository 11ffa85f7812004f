// For tests: a real NATS server on a local port, which can be killed, restarted, and reset to an older copy of its store.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { eventStream } from '../fleet/outbox.ts'
import { setUp } from '../fleet/setup.ts'
import { connectTo, type Place, type Stored } from '../fleet/wire.ts'
import { answering, freePort } from '../kit/ports.ts'

export type TestBroker = {
  url: string
  port: number
  /** Kills it as a power cut of its process would. */
  kill(): Promise<void>
  start(): Promise<void>
  /** Suspends it, without closing any connection; `resume` continues it. */
  pause(): void
  resume(): void
  /** Removes the limit of its store; the server must be down. */
  addRoom(): void
  /** Changes the settings of the event stream, as an administrator does. */
  changeStream(settings: object): Promise<void>
  /** Reads its configuration again. */
  reload(config: string): void
  /** Copies the store, and puts the copy back; the server must be down. */
  copyStore(): void
  putStoreBack(): void
  /** Resolves with every message of the event stream. */
  messages(): Promise<Stored[]>
}

type Lifetime = { teardown(call: () => unknown): void }

type Settings = { config?: string; isSetUp?: boolean; room?: string; credentials?: string; duplicates_ms?: number }

/**
 * Starts a broker that has the event stream. `config` is added to its configuration file; `credentials` is a file that lets the test read everything.
 * `duplicates_ms` is how long it remembers the ids of messages (default: 2 minutes).
 */
export async function testBroker(t: Lifetime, settings: Settings = {}): Promise<TestBroker> {
  const { config = '', isSetUp = true, credentials, duplicates_ms } = settings
  let { room = '' } = settings
  const folder = mkdtempSync(join(tmpdir(), 'broker-'))
  const port = await freePort()
  const written = (more: string) =>
    writeFileSync(
      `${folder}/nats.conf`,
      `listen: "127.0.0.1:${port}"\njetstream { store_dir: "${folder}/store"${room && `, max_file: ${room}`} }\n${more}\n`,
    )
  written(config)
  let child: ChildProcess | undefined
  const url = `nats://127.0.0.1:${port}`
  const place = { servers: [url], name: 'reader', ...(credentials !== undefined && { credentials }) }
  const isRunning = () => child !== undefined && child.exitCode === null && child.signalCode === null
  const kill = async () => {
    if (!child || !isRunning()) return
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  }
  const start = async () => {
    if (isRunning()) return
    child = spawn('nats-server', ['-c', `${folder}/nats.conf`], { stdio: 'ignore' })
    await answering(port)
  }
  t.teardown(async () => {
    await kill()
    rmSync(folder, { recursive: true, force: true })
  })
  await start()
  if (isSetUp) await whenReady(place)
  if (duplicates_ms !== undefined) await changeStream(port, { duplicate_window: duplicates_ms * 1e6 })
  return {
    url,
    port,
    kill,
    start,
    pause: () => child?.kill('SIGSTOP'),
    resume: () => child?.kill('SIGCONT'),
    addRoom() {
      room = ''
      written(config)
    },
    changeStream: (settings) => changeStream(port, settings),
    reload(more) {
      written(more)
      child?.kill('SIGHUP')
    },
    copyStore: () => cpSync(`${folder}/store`, `${folder}/copy`, { recursive: true }),
    putStoreBack() {
      rmSync(`${folder}/store`, { recursive: true })
      cpSync(`${folder}/copy`, `${folder}/store`, { recursive: true })
    },
    messages: () => messagesAt(place),
  }
}

/** JetStream takes a moment longer than the port. */
async function whenReady(place: Place): Promise<void> {
  for (let tries = 0; ; tries++) {
    try {
      await setUp(place)
      return
    } catch (error) {
      if (tries >= 50) throw error
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
}

/** Changes the settings of the event stream, as an administrator does. Resolves when the broker has them. */
async function changeStream(port: number, settings: object): Promise<void> {
  const asked = JSON.stringify({ name: eventStream, subjects: ['bd.*.evt.*'], allow_direct: true, storage: 'file', ...settings })
  const socket = connect(port, '127.0.0.1')
  socket.write(
    `CONNECT {"verbose":false}\r\nSUB answer 1\r\nPUB $JS.API.STREAM.UPDATE.${eventStream} answer ${asked.length}\r\n${asked}\r\n`,
  )
  let answer = ''
  for await (const bytes of socket) {
    answer += bytes
    if (/"type":.*\r\n/.test(answer)) break
  }
  if (answer.includes('"error":')) throw new Error(answer)
}

async function messagesAt(place: Place): Promise<Stored[]> {
  const link = await connectTo(place)
  try {
    const found: Stored[] = []
    const newest = await link.newest(eventStream)
    if (newest > 0) {
      for await (const message of link.messages(eventStream, 1)) {
        found.push(message)
        if (message.seq >= newest) break
      }
    }
    return found
  } finally {
    link.close()
  }
}

/** Starts a broker on a configuration of its own; it ends with the test. */
export async function brokerOn(t: Lifetime, config: string, port: number): Promise<void> {
  const child = spawn('nats-server', ['-c', config], { stdio: 'ignore' })
  const ended = once(child, 'exit')
  t.teardown(async () => {
    child.kill('SIGKILL')
    await ended
  })
  await answering(port)
}

/** Starts a TCP proxy to a port or a Unix socket. It can delay bytes, or drop them in one or both directions while its connections stay open. */
export async function halfOpenProxy(t: Lifetime, to: number | string) {
  let delay_ms = 0
  const sockets = new Set<Socket>()
  let [isOpen, isDeaf] = [true, false]
  const server = createServer((from) => {
    const other = typeof to === 'string' ? connect(to) : connect(to, '127.0.0.1')
    for (const [one, two] of [
      [from, other],
      [other, from],
    ] as const) {
      sockets.add(one)
      one.on(
        'data',
        (bytes) =>
          isOpen && !(isDeaf && one === other) && (delay_ms === 0 ? two.write(bytes) : setTimeout(() => two.write(bytes), delay_ms)),
      )
      one.on('error', () => two.destroy())
      one.on('close', () => two.destroy())
    }
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return {
    url: `nats://127.0.0.1:${port}`,
    /** Delays every piece by this time from now on. */
    slow(ms: number) {
      delay_ms = ms
    },
    /** Drops all bytes from now on. */
    swallow() {
      isOpen = false
    },
    /** Drops the broker's answers from now on: the broker takes messages, and the bench does not learn of it. */
    swallowAnswers() {
      isDeaf = true
    },
    /** Lets new connections work again, and cuts the old ones. */
    mend() {
      isOpen = true
      isDeaf = false
      for (const socket of sockets) socket.destroy()
    },
  }
}
