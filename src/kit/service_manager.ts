// Notifies systemd that the service is ready, and at intervals that its event loop is alive.
//
// Node has no Unix datagram sockets, so `systemd-notify` is used. One shell is started at the beginning and calls it on
// request, so that the large Node process forks nothing while the bench runs, and a hanging loop requests nothing.

import type { ChildProcess } from 'node:child_process'

const helper = 'while read -r words; do systemd-notify "$words"; done'

export class ServiceManager {
  readonly #watchdog_ms: number
  readonly #isWatched: boolean
  #helper: ChildProcess | undefined
  #feeding: NodeJS.Timeout | undefined

  /** Does nothing without `NOTIFY_SOCKET` in the environment. */
  constructor(env: Readonly<Record<string, string | undefined>> = process.env) {
    this.#isWatched = Boolean(env.NOTIFY_SOCKET)
    this.#watchdog_ms = Number(env.WATCHDOG_USEC ?? 0) / 1000
  }

  /** Reports that the API answers, and starts to feed the watchdog of the unit. */
  ready(): void {
    this.#tell('READY=1')
    if (this.#watchdog_ms > 0) this.#feeding = setInterval(() => this.#tell('WATCHDOG=1'), this.#watchdog_ms / 3).unref()
  }

  /** Announces the end, and keeps feeding the watchdog, which also guards the end. */
  stopping(): void {
    this.#tell('STOPPING=1')
  }

  close(): void {
    clearInterval(this.#feeding)
    this.#helper?.stdin?.end()
  }

  #tell(words: string): void {
    if (this.#isWatched) this.#listener().stdin?.write(`${words}\n`)
  }

  /** Returns the helper shell; starts it again if it was killed. */
  #listener(): ChildProcess {
    if (this.#helper && this.#helper.exitCode === null && this.#helper.signalCode === null) return this.#helper
    // Loaded only when needed, which most starts do not.
    this.#helper = process.getBuiltinModule('node:child_process').spawn('/bin/sh', ['-c', helper], { stdio: ['pipe', 'ignore', 'inherit'] })
    this.#helper.on('error', () => undefined)
    this.#helper.stdin?.on('error', () => undefined)
    this.#helper.unref()
    return this.#helper
  }
}
