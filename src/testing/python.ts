// For tests: Python programs that import the client, on Debian's python3.

import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { type Test, test } from 'tap'

const clients = fileURLToPath(new URL('../../../src/clients/python/', import.meta.url))
export const source = readFileSync(`${clients}benchd.py`, 'utf8')

/** Says why a test with a Python program cannot run here, or false. */
export const noPython = spawnSync('python3', ['--version']).status !== 0 && 'there is no python3'

/** A test that starts Python programs: skipped where there is no `python3`. */
export function withPython(name: string, body: (t: Test) => Promise<unknown>): void {
  test(name, { skip: noPython }, body)
}

/** `interpreter`: the program that runs Python; `python3` by default. */
export type Where = { url: string; key: string | undefined; fingerprint?: string; retry_s?: number; interpreter?: string }

/** Starts a program that imports the client, and reads its lines as they come. */
export function python(t: Test, { url, key, fingerprint, retry_s = 30, interpreter = 'python3' }: Where, program: string) {
  const folder = mkdtempSync(`${tmpdir()}/benchd-python-`)
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  writeFileSync(`${folder}/benchd.py`, source.replace('RETRY_S = 30.0', `RETRY_S = ${retry_s}.0`))
  copyFileSync(`${clients}benchd_pylabrobot.py`, `${folder}/benchd_pylabrobot.py`)
  writeFileSync(`${folder}/program.py`, `from benchd import *\nbench = Bench.from_env()\n${program}`)
  const env = {
    PATH: process.env.PATH,
    HOME: folder,
    PYTHONUNBUFFERED: '1',
    BENCHD_URL: url,
    ...(key !== undefined && { BENCHD_API_KEY: key }),
    ...(fingerprint !== undefined && { BENCHD_FINGERPRINT: fingerprint }),
  }
  const child = spawn(interpreter, [`${folder}/program.py`], { cwd: folder, env, stdio: ['pipe', 'pipe', 'pipe'] })
  t.teardown(() => child.kill('SIGKILL'))
  const stderr = text(child.stderr)
  const ended = once(child, 'close').then(async ([code]) => ({ code: code as number, stderr: await stderr }))
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  return { child, ended, line: async () => (await lines.next()).value as string | undefined }
}

/** Runs a program, and returns the JSON of its lines. */
export async function printed(t: Test, where: Where, program: string): Promise<unknown[]> {
  const { ended, line } = python(t, where, `import json\ndef say(*values):\n    for value in values: print(json.dumps(value))\n${program}`)
  const found: unknown[] = []
  for (let one = await line(); one !== undefined; one = await line()) found.push(JSON.parse(one))
  const { code, stderr } = await ended
  t.equal(code, 0, stderr)
  return found
}
