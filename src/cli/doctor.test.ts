import { chmodSync, closeSync, mkdirSync, openSync, writeFileSync } from 'node:fs'
import { type Test, test } from 'tap'
import { driver } from '../../drivers/bioshake/driver.ts'
import { drivers } from '../../drivers/index.ts'
import { serveOnPty } from '../../drivers/serve.ts'
import type { Finding } from '../care/doctor/finding.ts'
import { layOut, wellPi } from '../testing/care.ts'
import { running, spawned } from '../testing/cli.ts'

const models = { 'shaker-1': '3000-T elm', 'shaker-2': 'D30 elm' }
type Id = keyof typeof models
const identityOf = (id: Id) => ({ model: `BIOSHAKE ${models[id]} (simulated)`, serial_number: 'SIM-0001' })

/** Two shakers on ports of their own, and a configuration that knows both; `cables` says which is in whose socket. */
async function bench(t: Test, cables: Record<Id, Id>) {
  const ending: (() => Promise<unknown>)[] = []
  t.teardown(async () => {
    for (const end of ending.reverse()) await end()
  })
  const home = t.testdir()
  const devices = await Promise.all(
    (Object.keys(models) as Id[]).map(async (device_id) => {
      const settings = { model: models[device_id] }
      const served = await serveOnPty(driver, { model: models[cables[device_id]] }, { link: `${home}/${device_id}` })
      ending.push(() => served.close())
      return { device_id, driver: 'bioshake', settings, identity: identityOf(device_id), transport: { kind: 'serial', path: served.path } }
    }),
  )
  const write = (file: object) =>
    writeFileSync(`${home}/config.json`, JSON.stringify({ format: 1, listen: { host: '127.0.0.1', port: 0 }, ...file }))
  write({ devices })
  mkdirSync(`${home}/data`, { mode: 0o700 })
  const places = ['--config', `${home}/config.json`, '--data-dir', `${home}/data`]
  const doctor = async (...args: string[]) => {
    const { code, stdout, stderr } = await spawned(home, ['doctor', '--json', ...places, ...args])
    t.equal(stderr, '')
    const { findings, failed } = JSON.parse(stdout) as { findings: Finding[]; failed: number }
    t.equal(code, failed ? 1 : 0)
    return (check: string) => findings.filter((one) => one.check === check)
  }
  return { home, devices, write, places, doctor }
}

const straight: Record<Id, Id> = { 'shaker-1': 'shaker-1', 'shaker-2': 'shaker-2' }
const swapped: Record<Id, Id> = { 'shaker-1': 'shaker-2', 'shaker-2': 'shaker-1' }

test('where no service runs instruments are asked who they are if that is wanted, and not otherwise', async (t) => {
  const { doctor } = await bench(t, straight)
  const quiet = await doctor()
  t.match(quiet('instruments'), [{ level: 'SKIP', fix: /--ask/ }])
  t.match(quiet('serial'), [{ level: 'OK', finding: /^shaker-1: .* can be opened, and is free$/ }, { level: 'OK' }])
  t.match((await doctor('--ask'))('instruments'), [
    {
      level: 'OK',
      finding: 'shaker-1: says it is BIOSHAKE 3000-T elm (simulated), serial number SIM-0001, firmware v0.0.0-simulated, as it was taught',
    },
    { level: 'OK', finding: /^shaker-2: says it is BIOSHAKE D30 elm .* as it was taught$/ },
  ])
})

test('an instrument that another program speaks to is not asked', async (t) => {
  const { doctor, devices, write } = await bench(t, straight)
  const held = openSync('/dev/null', 'r')
  t.teardown(() => closeSync(held))
  write({ devices: [{ ...devices[0], transport: { kind: 'serial', path: '/dev/null' } }] })
  const found = await doctor('--ask')
  t.match(found('serial'), [{ level: 'FAIL', finding: /\(process \d+\).* has \/dev\/null open$/ }])
  t.match(found('instruments'), [{ level: 'SKIP', finding: /^shaker-1: not asked, for / }])
})

test('cables that were swapped are found, and whose they are is told', async (t) => {
  const { doctor } = await bench(t, swapped)
  t.match((await doctor('--ask'))('instruments'), [
    {
      level: 'FAIL',
      finding: /^shaker-1: .*: model "BIOSHAKE D30 elm \(simulated\)" instead of "BIOSHAKE 3000-T elm/,
      fix: /^that is shaker-2: its cable is in the socket of shaker-1/,
    },
    { level: 'FAIL', finding: /^shaker-2: /, fix: /^that is shaker-1/ },
  ])
})

test('so are those between instruments of different makes, each of which is silent where it is', async (t) => {
  const { home, doctor, write } = await bench(t, straight)
  const ending: (() => Promise<unknown>)[] = []
  t.teardown(() => Promise.all(ending.map((end) => end())))
  const at = async (name: 'bioshake' | 'plateloc') => {
    // The path of a pseudo-terminal that is closed is the next one's, of whatever program. The link is gone then.
    const served = await serveOnPty(await drivers[name](), {}, { link: `${home}/${name}` })
    ending.push(() => served.close())
    return { kind: 'serial', path: served.path }
  }
  const [shaker, sealer] = [await at('bioshake'), await at('plateloc')]
  write({
    devices: [
      { device_id: 'shaker-1', driver: 'bioshake', transport: sealer },
      { device_id: 'sealer-1', driver: 'plateloc', transport: shaker },
    ],
  })
  t.match((await doctor('--ask'))('instruments'), [
    {
      level: 'FAIL',
      finding: /^shaker-1: silent, but asked as sealer-1 /,
      fix: /^that is sealer-1: its cable is in the socket of shaker-1/,
    },
    { level: 'FAIL', finding: /^sealer-1: silent, but asked as shaker-1 .* BIOSHAKE/, fix: /^that is shaker-1/ },
  ])
  await ending.pop()?.()
  t.match((await doctor('--ask'))('instruments'), [
    { level: 'WARN', finding: /^shaker-1: /, fix: /and not in the socket of sealer-1$/ },
    { level: 'FAIL', finding: /^sealer-1: silent, but/ },
  ])
})

test('beside a service it is the service that is asked, for its ports are not opened', async (t) => {
  const { home, places, doctor, devices, write } = await bench(t, swapped)
  const service = running(t, home, ['serve', ...places])
  await service.line(/listens on/)
  const found = await doctor()
  t.match(found('service')[0], { level: 'OK', finding: /^answers, version / })
  for (const [i, id] of Object.keys(models).entries()) t.match(found('serial')[i], { finding: new RegExp(`^${id}: the service has /`) })
  t.match(found('keys'), [{ level: 'WARN', finding: /^none yet/ }])
  t.equal(found('config').length, 1)
  t.ok(found('instruments').every(({ level, finding }) => level === 'FAIL' || finding.includes('does not say who it is')))
  const shakers = [
    { ...devices[0], settings: { model: 'Q1' } },
    { device_id: 'shaker-3', driver: 'bioshake', transport: { kind: 'simulated' } },
  ]
  write({ devices: shakers, hosts: ['bench.lab'], system_id: 'other' })
  t.match((await doctor())('config').slice(1), [
    {
      level: 'WARN',
      finding: /with: hosts, devices: shaker-2 is gone, devices: shaker-1\.settings\.model, devices: shaker-3 is new$/,
      fix: 'benchd config reload',
    },
    { level: 'WARN', finding: /with: system_id$/, fix: /restart/ },
  ])
  const reload = await spawned(home, ['config', 'reload', '--data-dir', `${home}/data`])
  t.match(reload, {
    code: 0,
    stdout:
      /^taken over: hosts, devices: shaker-2 is gone, .*shaker-3 is new; needs a restart: system_id; \d+ topolog.*\nwhen nothing runs/,
  })
  t.equal((await doctor())('config').length, 2)
  const other = `${home}/other.json`
  writeFileSync(other, '{"format": 1}')
  t.match((await doctor('--config', other))('config')[1], {
    level: 'WARN',
    finding: `the service that runs has another one: ${home}/config.json`,
  })
  writeFileSync(`${home}/config.json`, '{')
  const refused = await spawned(home, ['config', 'reload', '--data-dir', `${home}/data`])
  t.match(refused, { code: 2, stdout: '', stderr: /config\.json is not JSON/ })
  service.child.kill('SIGTERM')
  await service.ended
})

test('what people read has a line for each finding, one for what to do, and a sum', async (t) => {
  const root = t.testdir()
  layOut(root, { ...wellPi, '/sys/class/hwmon/hwmon1/in0_lcrit_alarm': '1\n', '/etc/benchd/config.json': '{"format": 1}' })
  mkdirSync(`${root}/var/lib/benchd`, { recursive: true })
  chmodSync(`${root}/var/lib/benchd`, 0o700)
  const { code, stdout } = await spawned(root, ['doctor', '--root', root])
  t.equal(code, 1)
  t.match(stdout, /^OK {4}board {8}Raspberry Pi 4 Model B/m)
  t.match(stdout, /^FAIL {2}power {8}under-voltage, within the last two seconds\n {6}fix: use the power supply/m)
  t.match(stdout, /^\d+ failed, \d+ warnings?\n$/m)
})
