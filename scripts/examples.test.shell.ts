// A shell in which the examples of a guide are typed one after the other, in a folder of their own, beside a bench of the demo.

import { spawn } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import type { Test } from 'tap'
import { program, type spawnedDemo } from '../src/testing/cli.ts'

export type Demo = Awaited<ReturnType<typeof spawnedDemo>>
export type Typed = { code: number; text: string }
export type Shell = { folder: string; type(command: string): Promise<Typed> }

/** Functions of the shell: `sudo` and `npx` run their command as it is, and `systemctl` only notes its words, so that the services of this computer stay as they are. */
const words = ['sudo() { "$@"; }', 'npx() { "$@"; }', 'systemctl() { echo "systemctl $*" >>"$HOME/systemctl"; }']

export function shellBeside(t: Test, { home, url, key }: Demo): Shell {
  const folder = `${home}/typed`
  mkdirSync(folder)
  mkdirSync(`${home}/bin`)
  writeFileSync(`${home}/bin/benchd`, `#!/bin/sh\nexec '${process.execPath}' '${program}' "$@"\n`, { mode: 0o755 })
  const places = { BENCHD_DATA_DIR: `${home}/data`, BENCHD_CONFIG: `${home}/etc/config.json`, CONFIGURATION_DIRECTORY: `${home}/etc` }
  const env = { PATH: `${home}/bin:${process.env.PATH}`, HOME: home, ...places, BENCHD_URL: url, BENCHD_API_KEY: key }
  const child = spawn('bash', { cwd: folder, env, stdio: ['pipe', 'pipe', 'inherit'], detached: true })
  t.teardown(() => process.kill(-child.pid!, 'SIGKILL'))
  child.stdin.write(`exec 2>&1\n${words.join('\n')}\n`)
  const pieces = child.stdout.setEncoding('utf8')[Symbol.asyncIterator]()
  let [shown, count] = ['', 0]
  return {
    folder,
    async type(command) {
      const mark = `ended-${++count}`
      child.stdin.write(`${command}\nprintf '\\n${mark} %s\\n' $?\n`)
      for (;;) {
        const [whole, code] = new RegExp(`\\n${mark} (\\d+)\\n`).exec(shown) ?? []
        if (whole !== undefined) {
          const text = shown.slice(0, shown.indexOf(whole))
          shown = shown.slice(shown.indexOf(whole) + whole.length)
          return { code: Number(code), text }
        }
        const { value, done } = await pieces.next()
        if (done) throw new Error(`the shell ended: ${shown}`)
        shown += value
      }
    },
  }
}
