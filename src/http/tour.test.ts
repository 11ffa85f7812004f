// The demo as a stranger starts it, and the tour of its API with curl alone.

import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { test } from 'tap'
import { noCurl } from '../testing/curl.ts'

const program = fileURLToPath(new URL('../../bundle/main.js', import.meta.url))
const tour = fileURLToPath(new URL('../../../scripts/tour.sh', import.meta.url))

test('the tour finds every row of the demo as it should be', { skip: noCurl }, async (t) => {
  const demo = spawn(process.execPath, [program, 'demo', '--port', '0', '--time-scale', '50'], { stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(demo, 'close')
  t.teardown(() => demo.kill('SIGKILL'))
  const { url, key } = await toldBy(demo.stdout)
  const { code, said } = await new Promise<{ code: unknown; said: string }>((resolve) => {
    execFile('bash', [tour, url], { env: { ...process.env, BENCHD_API_KEY: key } }, (error, stdout, stderr) => {
      resolve({ code: error?.code ?? 0, said: stdout + stderr })
    })
  })
  for (const line of said.match(/^NOT OK.*\n.*/gm) ?? []) t.fail(line)
  t.match(said, /^\d{2,} passed, 0 failed$/m)
  t.equal(code, 0)
  demo.kill('SIGTERM')
  t.strictSame(await ended, [0, null])
})

async function toldBy(stdout: NodeJS.ReadableStream): Promise<{ url: string; key: string }> {
  let url: string | undefined
  let key: string | undefined
  for await (const line of createInterface({ input: stdout })) {
    url ??= /^ +API +(http\S+)\/api\/devices$/.exec(line)?.[1]
    key ??= /^ +key +(bk_\S+)$/.exec(line)?.[1]
    if (url && key) {
      stdout.resume()
      return { url, key }
    }
  }
  throw new Error('the demo ended before it told its address and a key')
}
