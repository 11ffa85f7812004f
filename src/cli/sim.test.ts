// `benchd sim`: an instrument on a pseudo-terminal, for a program that knows nothing of us.

import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { test } from 'tap'
import { benchd, running } from '../testing/cli.ts'

test('who types getShakeState at a simulated shaker reads 3', async (t) => {
  const home = t.testdir({})
  const link = `${home}/shaker`
  const sim = running(t, home, ['sim', 'bioshake', '--pty', '--link', link])
  const path = await sim.line(/^\/.*/)
  const typed = `exec 3<>"$0"; printf 'getShakeState\\r' >&3; head -n 1 <&3`
  const { stdout } = await promisify(execFile)('sh', ['-c', typed, path])
  t.equal(stdout, '3\r\n')
  sim.child.kill('SIGTERM')
  t.match(await sim.ended, { code: 0, stderr: /simulated bioshake/ })
})

test('a driver that there is not is told by name, also one that every object of JavaScript has a member of', async (t) => {
  for (const [name, ...options] of [['biosake', '--pty'], ['toString', '--pty'], ['biosake']] as const)
    t.match(await benchd(t.testdir(), ['sim', name, ...options]), {
      code: 3,
      stderr: new RegExp(`there is no driver ${name}.*; there is: bioshake, `),
    })
})
