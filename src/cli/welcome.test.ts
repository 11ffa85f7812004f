// The commands that the demo prints, typed as they stand.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { t as file, type Test, test } from 'tap'
import { fakeProgram, running } from '../testing/cli.ts'

// A slow machine is not a failure.
file.setTimeout(0)

const program = fileURLToPath(new URL('../../bundle/main.js', import.meta.url))

/** A demo, the commands of its welcome, and a second terminal that has run the first of them. */
async function welcomed(t: Test) {
  const home = t.testdir({})
  const PATH = fakeProgram(`${home}/bin`, 'benchd', `exec '${process.execPath}' '${program}' "$@"`)
  const demo = running(t, home, ['demo', '--port', '0', '--time-scale', '50'], { PATH })
  await demo.line(/^Try in a second terminal:$/)
  const exported = await demo.line(/^ {2}(export .*)$/)
  const commands: string[] = []
  for (let more = ''; ; ) {
    const line = await demo.line(/^ {2,}(\S.*)$|^$/)
    if (line === '') break
    more += line.replace(/\\$/, '')
    if (line.endsWith('\\')) continue
    commands.push(more)
    more = ''
  }
  demo.child.stdout.resume()
  const type = (command: string) =>
    spawn('bash', ['-c', `${exported}\n${command}`], { env: { HOME: home, PATH }, stdio: ['ignore', 'pipe', 'pipe'] })
  return { commands, type }
}

test('every command that the demo prints works as it stands', async (t) => {
  const { commands, type } = await welcomed(t)
  const [tail = '', submit = '', ...requests] = commands.reverse()
  t.match([tail, submit], ['benchd events tail', 'benchd runs submit seal-and-spin --follow'])
  t.equal(requests.length, 4)
  const ended = async (command: string) => {
    const child = type(command)
    const [[code], stdout, stderr] = await Promise.all([once(child, 'close'), text(child.stdout), text(child.stderr)])
    return { code, stdout, stderr }
  }
  for (const command of requests.reverse())
    t.match(await ended(command), { code: 0, stdout: /^(\[\{|\{"(devices|success":true)).*\n$/s }, command)

  const tailing = type(tail)
  t.teardown(() => tailing.kill('SIGKILL'))
  const metrics = 'curl -s -H "X-API-Key: $BENCHD_API_KEY" $BENCHD_URL/metrics'
  while (!/^benchd_sse_clients [1-9]/m.test((await ended(metrics)).stdout)) t.comment('nobody listens yet')
  const [[first], run] = await Promise.all([once(tailing.stdout, 'data'), ended(submit)])
  t.match(run, { code: 0, stdout: /plate {2}COMPLETED[\s\S]*execution {2}COMPLETED\n$/ })
  t.match(String(first), /^\d{4}-\d\d-\d\dT\S+ {2}(SUBMISSION|EXECUTION|THREAD|METHOD|ACTION|DEVICE|LABWARE)\./)
})
