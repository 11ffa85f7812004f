// Notifies systemd that the service is ready, and every so often that its event loop still turns.
//
// Node has no datagram sockets of the Unix family, so `systemd-notify` tells it. One shell is begun at the start and calls it at our
// word: Node itself, which is large, forks nothing while a bench runs, and a loop that hangs gives no word.

import type { ChildProcess } from 'node:child_process'

const helper = 'while read -r words; do systemd-notify "$words"; done'

export class ServiceManager {
  readonly #watchdog_ms: number
  readonly #isWatched: boolean
  #helper: ChildProcess | undefined
  #feeding: NodeJS.Timeout | undefined

  /** Without `NOTIFY_SOCKET` in the environment nobody listens, and nothing is done. */
  constructor(env: Readonly<Record<string, string | undefined>> = process.env) {
    this.#isWatched = Boolean(env.NOTIFY_SOCKET)
    this.#watchdog_ms = Number(env.WATCHDOG_USEC ?? 0) / 1000
  }

  /** The API answers. From now on systemd kills the service when it hears nothing for as long as its unit says. */
  ready(): void {
    this.#tell('READY=1')
    if (this.#watchdog_ms > 0) this.#feeding = setInterval(() => this.#tell('WATCHDOG=1'), this.#watchdog_ms / 3).unref()
  }

  /** Announces the end, and goes on feeding the watchdog: the end must not hang either. */
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

  /** Begun anew when somebody has killed it. */
  #listener(): ChildProcess {
    if (this.#helper && this.#helper.exitCode === null && this.#helper.signalCode === null) return this.#helper
    // Node reads this module in when somebody needs it: most starts do not.
    this.#helper = process.getBuiltinModule('node:child_process').spawn('/bin/sh', ['-c', helper], { stdio: ['pipe', 'ignore', 'inherit'] })
    this.#helper.on('error', () => undefined)
    this.#helper.stdin?.on('error', () => undefined)
    this.#helper.unref()
    return this.#helper
  }
}
