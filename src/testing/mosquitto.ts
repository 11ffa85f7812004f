// For tests: Debian's MQTT broker on a local port, which can be killed and started again, and a client that has subscribed to everything.

import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Test } from 'tap'
import { answering, freePort } from '../kit/ports.ts'

/** Debian's programs for administrators lie where other users do not look. */
export const env = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin` }

export type Heard = { topic: string; payload: string; isRetained: boolean }

export type Mosquitto = {
  url: string
  port: number
  /** Starts it. `kept`: the payloads that it has kept from before, by topic. */
  start(kept?: Record<string, string>): Promise<void>
  /** Kills it; what it had kept is lost. */
  kill(): Promise<void>
  /** Publishes one message, as another client. */
  publish(topic: string, payload: string, ...options: string[]): void
  /** Subscribes to all topics; `next` resolves with the next message that fits. */
  listen(...options: string[]): Promise<{ heard: Heard[]; next(fits: (one: Heard) => boolean): Promise<Heard>; close(): void }>
  /** Returns the retained values, by topic. */
  retained(): Promise<Map<string, string>>
}

/** Starts a broker. `config` is its configuration file, without `listener`. */
export async function mosquitto(t: Pick<Test, 'teardown'>, config = 'allow_anonymous true', scheme = 'mqtt'): Promise<Mosquitto> {
  const folder = mkdtempSync(join(tmpdir(), 'mosquitto-'))
  const port = await freePort()
  const configured = (on: number, more = '') => {
    writeFileSync(`${folder}/mosquitto.conf`, `listener ${on} 127.0.0.1\n${config}\n${more}`)
    return spawn('mosquitto', ['-c', `${folder}/mosquitto.conf`], { stdio: 'ignore', env })
  }
  let child: ChildProcess | undefined
  const kill = async () => {
    if (!child) return
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    child = undefined
    await ended
  }
  const start = async (kept: Record<string, string> = {}) => {
    // Else it leaves its user for another, who may not write in the folder.
    const keeping = `persistence true\npersistence_location ${folder}/\n${isRoot ? 'user root\n' : ''}`
    if (Object.keys(kept).length > 0) await keep(kept, (on) => configured(on, keeping))
    child = configured(port, Object.keys(kept).length > 0 ? keeping : '')
    await answering(port)
  }
  t.teardown(async () => {
    await kill()
    rmSync(folder, { recursive: true, force: true })
  })
  const place = ['-h', '127.0.0.1', '-p', String(port)]
  const listen: Mosquitto['listen'] = async (...options) => {
    const heard: Heard[] = []
    const waiting = new Set<(one: Heard) => void>()
    const topics = ['-t', '#', '-t', '$SYS/broker/version']
    const client = spawn('mosquitto_sub', [...place, ...options, ...topics, '-F', '%j'], { stdio: ['ignore', 'pipe', 'ignore'] })
    t.teardown(() => client.kill('SIGKILL'))
    let isThere = () => {}
    const there = new Promise<void>((resolve) => {
      isThere = resolve
    })
    createInterface({ input: client.stdout }).on('line', (line) => {
      const { topic, payload, retain } = JSON.parse(line) as { topic: string; payload: string | null; retain: number }
      // The answer to the last of the subscriptions.
      if (topic.startsWith('$SYS')) return isThere()
      const one = { topic, payload: payload ?? '', isRetained: retain === 1 }
      heard.push(one)
      for (const tell of waiting) tell(one)
    })
    await there
    return {
      heard,
      next: (fits) =>
        new Promise((resolve) => {
          const tell = (one: Heard) => {
            if (!fits(one)) return
            waiting.delete(tell)
            resolve(one)
          }
          waiting.add(tell)
        }),
      close: () => void client.kill('SIGKILL'),
    }
  }
  await start()
  return {
    ...{ url: `${scheme}://127.0.0.1:${port}`, port, start, kill, listen },
    publish: (topic, payload, ...options) => publish(port, topic, payload, ...options),
    async retained() {
      const { heard, close } = await listen()
      close()
      return new Map(heard.filter(({ isRetained }) => isRetained).map(({ topic, payload }) => [topic, payload]))
    },
  }
}

/** Has a broker write to its file what clients published, where no other client of the test sees it. */
async function keep(kept: Record<string, string>, begin: (port: number) => ChildProcess): Promise<void> {
  const port = await freePort()
  const broker = begin(port)
  const ended = once(broker, 'exit')
  await answering(port)
  for (const [topic, payload] of Object.entries(kept)) publish(port, topic, payload, '-r', '-q', '1')
  broker.kill()
  await ended
}

function publish(port: number, topic: string, payload: string, ...options: string[]): void {
  spawnSync('mosquitto_pub', ['-h', '127.0.0.1', '-p', String(port), ...options, '-t', topic, '-m', payload])
}

const isRoot = process.geteuid?.() === 0
