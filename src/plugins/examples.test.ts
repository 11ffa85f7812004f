import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { type Test, test } from 'tap'
import { noTypeScript } from '../kit/modules.test.typescript.ts'
import { openService } from '../testing/http.ts'
import { isRunning, linesOf, type PluginService, untilPlugin } from '../testing/plugins.ts'

const skip = noTypeScript
const example = (name: string) => fileURLToPath(new URL(`../../../examples/plugins/${name}.ts`, import.meta.url))

/** Opens a service with one of the examples, as the configuration of its user names it. */
async function serviceWith(t: Test, name: string, settings: object, module = example(name)): Promise<PluginService> {
  const service = await openService(t, { plugins: { [name]: { module, settings } } })
  await untilPlugin(service, name, isRunning)
  return service
}

/** Waits until the function returns something. */
async function until<Value>(look: () => Value | undefined | false): Promise<Value> {
  for (;;) {
    const found = look()
    if (found) return found
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

/** Takes the lamp of the bench through its colours. */
async function throughColours(t: Test, service: PluginService, shown: () => string | undefined): Promise<void> {
  await until(() => shown() === 'green')
  const { incident_id } = service.bench.hub.incident('OTHER', 'somebody should look')
  await until(() => shown() === 'yellow')
  await service.ask('POST', '/api/devices/shaker-1/stop')
  await until(() => shown() === 'red')
  await service.ask('POST', '/api/devices/shaker-1/initialize')
  for (const { incident_id } of service.bench.hub.incidents.list()) await service.ask('POST', `/api/incidents/${incident_id}/acknowledge`)
  t.ok(incident_id)
  await until(() => shown() === 'green')
  await service.service.close()
  await until(() => shown() === 'dark')
}

test('the signal lamp shows the colour of the bench through addresses', { skip }, async (t) => {
  let shown: string | undefined
  const server = createHttpServer((request, response) => {
    shown = request.url?.slice(1)
    response.end()
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => server.close())
  const at = (colour: string) => `http://127.0.0.1:${(server.address() as AddressInfo).port}/${colour}`
  const addresses = Object.fromEntries(['green', 'yellow', 'red', 'dark'].map((colour) => [colour, at(colour)]))
  await throughColours(t, await serviceWith(t, 'signal_lamp', { http: addresses }), () => shown)
})

test('the signal lamp shows the colour of the bench on the coils of a relay box', { skip }, async (t) => {
  const coils = new Map<number, boolean>()
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.on('data', (bytes) => {
      // As a box does: the header, function 5, the coil, 0xff00 or 0; it echoes what it did.
      if (bytes.length !== 12 || bytes.readUInt16BE(4) !== 6 || bytes[6] !== 17 || bytes[7] !== 5) return socket.destroy()
      coils.set(bytes.readUInt16BE(8), bytes.readUInt16BE(10) === 0xff00)
      socket.write(bytes)
      return socket
    })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => server.close())
  const names = new Map([
    [10, 'green'],
    [300, 'yellow'],
    [12, 'red'],
  ])
  const shown = () => {
    if (coils.size < 3) return undefined
    const on = [...coils].filter(([, isOn]) => isOn).map(([coil]) => names.get(coil))
    return on.length === 0 ? 'dark' : on.join('+')
  }
  const { port } = server.address() as AddressInfo
  const modbus = { host: '127.0.0.1', port, unit: 17, green: 10, yellow: 300, red: 12 }
  await throughColours(t, await serviceWith(t, 'signal_lamp', { modbus }), shown)
})

test('the signal lamp shows the colour of the bench on three pins', { skip }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'lamp-'))
  const file = join(folder, 'levels')
  const program = `#!/bin/sh\n[ "$1" = --version ] && { echo 'gpioset (libgpiod) v1.6.3'; exit; }\necho "$*" >>${file}\nexec sleep 600\n`
  writeFileSync(join(folder, 'gpioset'), program)
  chmodSync(join(folder, 'gpioset'), 0o755)
  writeFileSync(file, '')
  const path = process.env.PATH
  process.env.PATH = `${folder}:${path}`
  t.teardown(() => {
    process.env.PATH = path
  })
  const service = await serviceWith(t, 'signal_lamp', { pins: { chip: 'gpiochip0', green: 17, yellow: 27, red: 22 } })
  const colours: Record<string, string> = {
    '--mode=signal gpiochip0 17=1 27=0 22=0': 'green',
    '--mode=signal gpiochip0 17=0 27=1 22=0': 'yellow',
    '--mode=signal gpiochip0 17=0 27=0 22=1': 'red',
    '--mode=signal gpiochip0 17=0 27=0 22=0': 'dark',
  }
  await throughColours(t, service, () => colours[linesOf(file).at(-1) ?? ''])
})

test('every value is written as CSV, into files that are bounded, after a torn row was cut off', { skip }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'values-'))
  const names = () => readdirSync(folder).sort()
  writeFileSync(join(folder, 'values-20200101T000000.000Z.csv'), 'utc,device,reading,value,unit\nwhole,a,b,1,°C\n2026-11-30T0')
  writeFileSync(join(folder, 'notes.txt'), 'of a person')
  const service = await serviceWith(t, 'csv', { folder, every_s: 0.05, file_mib: 0.0001, files: 3 })
  t.teardown(service.bench.readings.watch())
  t.equal(readFileSync(join(folder, 'values-20200101T000000.000Z.csv'), 'utf8'), 'utc,device,reading,value,unit\nwhole,a,b,1,°C\n')
  await until(() => names().length === 4 && !names()[1]!.includes('2020'))
  await until(() => names().length === 4)
  await service.service.close()
  t.equal(names()[0], 'notes.txt')
  const rows = names()
    .slice(1)
    .flatMap((name) => {
      const [head, ...rows] = linesOf(join(folder, name))
      t.equal(head, 'utc,device,reading,value,unit')
      return rows
    })
  for (const row of rows) t.match(row, /^\d{4}-\d\d-\d\dT[\d:.]+Z,[\w-]+,\w+,-?[\d.]+,\S+$/)
  for (const device of new Set(rows.map((row) => row.split(',')[1]))) {
    const times = rows.filter((row) => row.split(',')[1] === device).map((row) => row.split(',')[0]!)
    t.same(times, times.toSorted(), `the values of ${device} are in order`)
  }
  t.equal(new Set(rows).size, rows.length, 'no value is written twice')
})

const nodemailer = process.env.BENCHD_NODEMAILER ?? ''
const noMail =
  skip ||
  (nodemailer && existsSync(join(nodemailer, 'package.json'))
    ? noSmtpServer()
    : 'BENCHD_NODEMAILER names no folder of the package nodemailer')

function noSmtpServer(): string | false {
  try {
    execFileSync('/usr/bin/python3', ['-c', 'import aiosmtpd'], { stdio: 'ignore' })
    return false
  } catch {
    return 'the SMTP server aiosmtpd is not installed (python3-aiosmtpd)'
  }
}

/** An SMTP server that asks for a password, and prints each mail as a line of JSON. */
const smtp = `
import asyncio, json, email, email.policy
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult
class Handler:
    async def handle_DATA(self, server, session, envelope):
        mail = email.message_from_bytes(envelope.content, policy=email.policy.default)
        print(json.dumps({"from": envelope.mail_from, "to": envelope.rcpt_tos, "subject": mail["subject"], "text": mail.get_content()}), flush=True)
        return "250 OK"
def authenticate(server, session, envelope, mechanism, data):
    return AuthResult(success=data.login == b"bench" and data.password == b"secret")
controller = Controller(Handler(), hostname="127.0.0.1", port=PORT, authenticator=authenticate, auth_required=True, auth_require_tls=False)
controller.start()
print("{}", flush=True)
asyncio.new_event_loop().run_forever()
`

test('a mail is sent when somebody is needed, to a real server', { skip: noMail }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'email-'))
  mkdirSync(join(folder, 'node_modules'))
  symlinkSync(nodemailer, join(folder, 'node_modules/nodemailer'))
  copyFileSync(example('email'), join(folder, 'email.ts'))
  writeFileSync(join(folder, 'password'), 'secret\n')
  const reserved = createServer()
  await once(reserved.listen(0, '127.0.0.1'), 'listening')
  const { port } = reserved.address() as AddressInfo
  await new Promise((resolve) => reserved.close(resolve))
  const server = spawn('/usr/bin/python3', ['-c', smtp.replace('PORT', String(port))], { stdio: ['ignore', 'pipe', 'inherit'] })
  t.teardown(() => void server.kill('SIGKILL'))
  const mails: { from: string; to: string[]; subject: string; text: string }[] = []
  let isUp = false
  createInterface({ input: server.stdout }).on('line', (line) => {
    if (isUp) mails.push(JSON.parse(line))
    isUp = true
  })
  await until(() => isUp)
  const settings = { host: '127.0.0.1', port, user: 'bench', password_file: join(folder, 'password'), tls: 'none', every_s: 1 }
  const service = await serviceWith(t, 'email', { ...settings, from: 'bench@lab', to: ['ann@lab', 'ben@lab'] }, join(folder, 'email.ts'))
  service.bench.hub.incident('OTHER', 'the lid of the Thermoschüttler is open')
  const mail = await until(() => mails[0])
  t.match(mail, { from: 'bench@lab', to: ['ann@lab', 'ben@lab'], subject: 'system: the lid of the Thermoschüttler is open' })
  t.match(mail.text, /the lid of the Thermoschüttler is open/)
  service.bench.hub.incident('OTHER', 'one')
  service.bench.hub.incident('OTHER', 'two\r\nBcc: eve@lab')
  await service.service.close()
  await until(() =>
    mails
      .map(({ text }) => text)
      .join('')
      .includes('Bcc'),
  )
  t.ok(mails.every(({ to }) => to.length === 2))
  t.match(mails.map(({ text }) => text).join(''), /one\s+two/)
})
