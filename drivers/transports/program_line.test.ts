// The environment of a program that is a device, and the part of its command line that others are shown.

import { test } from 'tap'
import { programLine } from './program_line.ts'

test('a program gets neither the settings of the service nor its way to systemd', async (t) => {
  const ours = {
    BENCHD_CONFIG: '/etc/benchd/config.json',
    NODE_ENV: 'production',
    NOTIFY_SOCKET: '/run/systemd/notify',
    WATCHDOG_USEC: '15000000',
    WATCHDOG_PID: '1',
    LISTEN_FDS: '1',
    LISTEN_PID: '1',
    CREDENTIALS_DIRECTORY: '/run/credentials/benchd.service',
  }
  const before = { ...process.env }
  t.teardown(() => {
    for (const name of [...Object.keys(ours), 'OF_THE_READER']) delete process.env[name]
    Object.assign(process.env, before)
  })
  Object.assign(process.env, ours, { OF_THE_READER: 'yes' })
  const line = programLine(['env'])
  let text = ''
  line.onBytes((bytes) => {
    text += Buffer.from(bytes).toString()
  })
  const lost = new Promise((resolve) => line.onLost(resolve))
  await line.open()
  await lost
  await line.close()
  t.match(text, /^OF_THE_READER=yes$/m)
  t.same(
    Object.keys(ours).filter((name) => text.includes(`${name}=`)),
    [],
  )
})

test('sentences about a program do not hold its arguments, which can be secrets', (t) => {
  const line = programLine(['reader-bridge', '--token', 'T0K3N'])
  t.throws(() => line.write(Buffer.from('x')), { message: /^reader-bridge is not open/ })
  t.end()
})
