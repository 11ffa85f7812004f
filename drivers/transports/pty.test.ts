import { execFile, spawn } from 'node:child_process'
import { existsSync, readFileSync, readlinkSync, statSync, writeFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { test } from 'tap'
import { openPty } from './pty.ts'
import { serialPort } from './serial_port.ts'

const run = promisify(execFile)
/** When this pty was made: the kernel soon gives its number to another, which a test beside this one may have made. */
const madeAt = (path: string) => statSync(path, { throwIfNoEntry: false })?.ctimeMs

test('a pty is a terminal without an echo, and changes no byte', async (t) => {
  const pty = await openPty()
  t.teardown(() => pty.close())
  const { stdout } = await run('stty', ['-F', pty.path, '-a'])
  t.match(stdout, /-icanon/)
  t.match(stdout, /-echo /)
  t.match(stdout, /-opost/)
})

test('a link leads to the pty, replaces one that led elsewhere, and goes with the pty', async (t) => {
  const link = `${t.testdir({ tty: t.fixture('symlink', '/dev/pts/gone') })}/tty`
  const pty = await openPty({ link })
  t.equal(pty.path, link)
  t.match(readlinkSync(link), /^\/dev\/pts\/\d+$/)
  await pty.close()
  t.notOk(existsSync(link))
})

test('a link that leads to a newer pty outlives the older one', async (t) => {
  const link = `${t.testdir()}/tty`
  const older = await openPty({ link })
  const newer = await openPty({ link })
  t.teardown(() => newer.close())
  const device = readlinkSync(link)
  await older.close()
  t.equal(readlinkSync(link), device)
})

test('a file is never replaced by a link', async (t) => {
  const file = `${t.testdir()}/notes`
  writeFileSync(file, 'dear diary')
  await t.rejects(openPty({ link: file }), { code: 'config', message: /is no symbolic link/ })
  t.equal(readFileSync(file, 'utf8'), 'dear diary')
})

test('closing a pty twice is as good as once', async (t) => {
  const pty = await openPty()
  const made = madeAt(pty.path)
  await pty.close()
  await pty.close()
  t.ok(made)
  t.not(madeAt(pty.path), made)
})

test('a pty goes away with the process that made it, killed or not', async (t) => {
  const script = `const { openPty } = await import(${JSON.stringify(new URL('./pty.js', import.meta.url).href)})
    console.log((await openPty()).path)`
  const maker = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['ignore', 'pipe', 'inherit'] })
  const path = await new Promise<string>((resolve) => maker.stdout.once('data', (line) => resolve(String(line).trim())))
  const line = serialPort({ path, serial: { baud: 9600 } })
  await line.open()
  const lost = new Promise((resolve) => line.onLost(resolve))
  const made = madeAt(path)
  maker.kill('SIGKILL')
  await lost
  await line.close()
  t.ok(made)
  t.not(madeAt(path), made)
})
