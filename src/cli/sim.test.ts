// `benchd sim`: an instrument on a pseudo-terminal or a TCP port, for a program that knows nothing of us.

import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
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

test('who asks a simulated arm on its TCP port for its version reads it, and another client is refused meanwhile', async (t) => {
  const sim = running(t, t.testdir({}), ['sim', 'precise_flex', '--tcp', '0'])
  const [host = '', port] = (await sim.line(/^127\.0\.0\.1:\d+/)).split(':')
  const client = connect(Number(port), host)
  const answer = once(client, 'data')
  client.write('version\n')
  t.match(String(await answer), /^0 TCP Command Server/)
  const second = connect(Number(port), host)
  t.equal(String(await once(second, 'data')), 'Port already in use\r\n')
  for (const one of [client, second]) one.destroy()
  sim.child.kill('SIGTERM')
  t.match(await sim.ended, { code: 0 })
})

test('an instrument on the network serves its connections, is served at another address when told, and at no pseudo-terminal', async (t) => {
  const sim = running(t, t.testdir({}), ['sim', 'microspin', '--tcp', 'localhost:0'])
  const [, port] = (await sim.line(/^localhost:\d+/)).split(':')
  const clients = [1, 2].map(() => connect(Number(port), 'localhost'))
  for (const client of clients) {
    const answer = once(client, 'data')
    client.write('hss\r\n')
    t.match(String(await answer), /^ACK! hss \d+\r\n/)
  }
  const third = connect(Number(port), 'localhost')
  t.equal(String(await once(third, 'data')), 'Port already in use\r\n')
  for (const one of [...clients, third]) one.destroy()
  sim.child.kill('SIGTERM')
  t.match(await sim.ended, { code: 0 })
  t.match(await benchd(t.testdir(), ['sim', 'microspin', '--pty']), {
    code: 2,
    stderr: /is on the network and has no serial port; serve it by --tcp 1000/,
  })
})

test('a driver that there is not is told by name, also one that every object of JavaScript has a member of', async (t) => {
  for (const [name, ...options] of [['biosake', '--pty'], ['toString', '--pty'], ['biosake']] as const)
    t.match(await benchd(t.testdir(), ['sim', name, ...options]), {
      code: 3,
      stderr: new RegExp(`there is no driver ${name}.*; there is: bioshake, `),
    })
})
