// The program of a bridge under its supervisor, as systemd starts it: the configuration on standard input, the socket as the third descriptor.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Test, test } from 'tap'
import { withPython } from '../../src/testing/python.ts'

const cli = fileURLToPath(new URL('../../src/cli/main.js', import.meta.url))
/** A stand-in for systemd: it opens the configuration, listens, and begins the program when somebody connects. */
const systemd = `
import os, select, socket, sys
path, config, *command = sys.argv[1:]
listening = socket.socket(socket.AF_UNIX)
listening.bind(path)
listening.listen()
os.dup2(os.open(config, os.O_RDONLY), 0)
print("listens", flush=True)
select.select([listening], [], [])
os.dup2(listening.fileno(), 3)
os.set_inheritable(3, True)
os.execve(command[0], command, {**os.environ, "LISTEN_FDS": "1", "TOKEN_OF_OTHERS": ""})
`

async function supervised(
  t: Test,
  command: readonly string[],
  device_id = 'reader-1',
): Promise<{ socket: Socket; child: ChildProcess; words(): string }> {
  // The path of a socket is short.
  const folder = mkdtempSync(join(tmpdir(), 'bridge-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  writeFileSync(`${folder}/systemd.py`, systemd)
  const reader = { device_id: 'reader-1', driver: 'bridge', type: 'reader', transport: { kind: 'bridge', command } }
  const config = JSON.stringify({ format: 1, devices: [{ device_id: 'arm-1', driver: 'external' }, reader] })
  writeFileSync(`${folder}/config.json`, `// The bench\n${config}`)
  const places = [`${folder}/bridge.sock`, `${folder}/config.json`]
  const child = spawn('python3', [`${folder}/systemd.py`, ...places, process.execPath, cli, 'run-bridge', device_id], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  let words = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    words += text
  })
  await once(child.stdout, 'data')
  const socket = connect(places[0]!)
  await once(socket, 'connect')
  return { socket, child, words: () => words }
}

/** All that comes until the connection is closed. */
async function allOf(socket: Socket): Promise<string> {
  let text = ''
  for await (const part of socket.setEncoding('utf8')) text += part
  return text
}

withPython('lines go to the program and back, and all ends with the connection', async (t) => {
  const { socket, child } = await supervised(t, ['cat'])
  socket.write('{"id": 1}\n')
  const [answer] = (await once(socket, 'data')) as [Buffer]
  t.equal(String(answer), '{"id": 1}\n')
  socket.destroy()
  t.same(await once(child, 'exit'), [0, null])
})

withPython('the service hears why its program has ended, and the journal what it wrote', async (t) => {
  const { socket, child, words } = await supervised(t, ['sh', '-c', 'printf half; echo first >&2; echo no licence >&2; exit 7'])
  const [half, message = ''] = (await allOf(socket)).split('\n')
  t.equal(half, 'half')
  const reason = 'it ended with exit status 7; its last words: no licence'
  t.same(JSON.parse(message), { jsonrpc: '2.0', method: 'ended', params: { reason } })
  if (child.exitCode === null) await once(child, 'exit')
  t.match(words(), 'first\nno licence\n')
})

withPython('a command that cannot be read, or begun, is told to the service', async (t) => {
  const unknown = await supervised(t, ['cat'], 'reader-2')
  t.match(await allOf(unknown.socket), /"reason":"benchd: the configuration has no command for a bridge reader-2"/)
  const missing = await supervised(t, ['/nowhere/reader'])
  t.match(await allOf(missing.socket), /"reason":"the program cannot be started: spawn \/nowhere\/reader ENOENT; see its command/)
})

withPython('the program finds no way to the configuration in its supervisor, nor what systemd gave that', async (t) => {
  const { socket } = await supervised(t, [
    'sh',
    '-c',
    'readlink /proc/$PPID/fd/* /proc/self/fd/*; env; tr "\\\\0" " " < /proc/$PPID/cmdline',
  ])
  const seen = await allOf(socket)
  t.notMatch(seen, 'config.json')
  t.notMatch(seen, 'LISTEN_FDS')
  t.match(seen, 'TOKEN_OF_OTHERS', 'it has looked')
})

test('nobody but systemd begins it', async (t) => {
  const child = spawn(process.execPath, [cli, 'run-bridge', 'reader-1'], { env: { ...process.env, LISTEN_FDS: '' } })
  let words = ''
  child.stderr.on('data', (text) => {
    words += text
  })
  t.same(await once(child, 'close'), [2, null])
  t.match(words, 'is called by systemd, in benchd-bridge@reader-1')
})
