// The README's *Try it*, command by command, in a fresh clone; then the tutorial of the workflows.

import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { test } from 'tap'

const top = fileURLToPath(new URL('../..', import.meta.url))

test('every command of Try it does what the README says', async (t) => {
  const folder = t.testdir()
  execFileSync('git', ['clone', '--quiet', top, `${folder}/clone`])
  // `npm start` builds, but compiles only what has changed since the build of these tests.
  cpSync(`${top}/dist`, `${folder}/clone/dist`, { recursive: true, filter: (path) => !/\/dist\/(bundle|web|together)$/.test(path) })
  const section = readFileSync(`${folder}/clone/README.md`, 'utf8').split(/^## /m)[1]!
  const [start = '', ...commands] = [...section.matchAll(/```sh\n(.*?)```/gs)].flatMap(([, block = '']) => block.trim().split('\n'))
  t.match(section, /^Try it/)
  t.equal(start, 'npm install && npm start')
  // Another service may have the usual port.
  const demo = shell(folder, `${start} -- --port 0`)
  t.teardown(() => process.kill(-demo.pid!, 'SIGKILL'))
  const said: Record<string, string> = {}
  for await (const line of createInterface({ input: demo.stdout! })) {
    const [, url, key] = /^ +API +(http:\/\/[\d.:]+)|^ +key +(bk_\S+)/.exec(line) ?? []
    if (url) said.BENCHD_URL = url
    if (key) said.BENCHD_API_KEY = key
    if (said.BENCHD_API_KEY) break
  }
  demo.stdout!.resume()
  const [exported = '', ...others] = commands
  t.match(exported, /^export BENCHD_URL=http:\/\/127\.0\.0\.1:8520 BENCHD_API_KEY=bk_…$/)
  const shows: Record<string, RegExp> = {
    'runs simulate': /seal-and-spin +completes/,
    'runs submit': /incident: [\s\S]*jam/,
    'runs why': /npx benchd runs recover/,
    'runs recover': /RETRY/,
    'runs follow': /COMPLETED/,
  }
  for (const command of others) {
    const [, words = ''] = /^npx benchd (\S+ \S+)/.exec(command)!
    const { code, text } = await ended(shell(folder, command, said))
    // A run that stands ends what follows it with a code of its own.
    t.equal(code, words === 'runs submit' ? 6 : 0, `${command}\n${text}`)
    t.match(text, shows[words] ?? /^/)
    delete shows[words]
  }
  t.same(shows, {}, 'all of them stand in the README')

  const [, tutorial = ''] = readFileSync(`${folder}/clone/src/workflow/README.md`, 'utf8').split(/^## /m)
  const [, file = ''] = /Save this as `([\w.-]+)`/.exec(tutorial)!
  writeFileSync(`${folder}/clone/${file}`, /```json\n(.*?)```/s.exec(tutorial)![1]!)
  const typed = [...tutorial.matchAll(/```sh\n(.*?)```/gs)].flatMap(([, block = '']) => block.trim().split('\n'))
  t.equal(typed.length, 4)
  for (const command of typed) {
    const { code, text } = await ended(shell(folder, command, said))
    t.equal(code, 0, `${command}\n${text}`)
    if (/--follow/.test(command)) t.match(text, /COMPLETED\n$/)
  }
})

function shell(folder: string, command: string, more: Record<string, string> = {}): ChildProcess {
  const { PATH = '', npm_config_cache } = process.env
  const env = { PATH, HOME: folder, CI: 'true', ...(npm_config_cache && { npm_config_cache }), ...more }
  return spawn('bash', ['-c', command], { cwd: `${folder}/clone`, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true })
}

async function ended(child: ChildProcess): Promise<{ code: number | null; text: string }> {
  let text = ''
  for (const stream of [child.stdout!, child.stderr!]) stream.on('data', (bytes: Buffer) => (text += bytes))
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, text })))
}
