// `benchd sim`: an instrument on a pseudo-terminal, for a program that knows nothing of us.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'tap'
import { running } from './testing.ts'

test('who types getShakeState at a simulated shaker reads 3', async (t) => {
  const home = t.testdir({})
  const link = `${home}/shaker`
  const sim = running(t, home, ['sim', 'bioshake', '--pty', '--link', link])
  const path = await sim.line(/^\/.*/)
  const terminal = spawn('socat', ['-', `${path},raw,echo=0`], { stdio: ['pipe', 'pipe', 'inherit'] })
  t.teardown(() => terminal.kill('SIGKILL'))
  terminal.stdin.write('getShakeState\r')
  t.equal(await answerOf(terminal), '3\r\n')
  terminal.stdin.end()
  sim.child.kill('SIGTERM')
  t.match(await sim.ended, { code: 0, stderr: /simulated bioshake/ })
})

async function answerOf({ stdout }: ChildProcess): Promise<string> {
  let said = ''
  while (!said.endsWith('\n')) said += (await once(stdout!, 'data'))[0]
  return said
}
