import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Test, test } from 'tap'
import { driver } from '../../../drivers/bioshake/driver.ts'
import { serveOnPty } from '../../../drivers/serve.ts'
import { systemClock } from '../../kit/clock.ts'
import { benchd, served, spawned } from '../../testing/cli.ts'
import { openBox } from '../../testing/drivers/box.ts'

const empty = `{
  // What this bench has.
  "format": 1,
  "listen": { "host": "127.0.0.1", "port": 0 },
  "devices": []
}
`

/** A configuration to be changed, and a shaker on a port of its own. */
async function bench(t: Test, config = empty) {
  const ending: (() => Promise<unknown>)[] = []
  t.teardown(async () => {
    for (const end of ending.reverse()) await end()
  })
  const home = t.testdir({ 'config.json': config })
  const shaker = await serveOnPty(driver, { model: '3000-T elm' }, { link: `${home}/port` })
  ending.push(() => shaker.close())
  const path = `${home}/config.json`
  const places = ['--config', path, '--data-dir', `${home}/data`]
  const devices = (...args: string[]) => benchd(home, ['devices', ...args, ...places])
  const text = () => readFileSync(path, 'utf8')
  return { home, shaker, path, places, devices, text, copies: () => readdirSync(home).filter((name) => name.startsWith('config.json.')) }
}

test('a device that is added is asked who it is, and the comments of the file stay', async (t) => {
  const { devices, shaker, text, copies, path, home } = await bench(t)
  const { code, stdout, stderr } = await devices(
    'add',
    'shaker-1',
    '--driver',
    'bioshake',
    '--port',
    shaker.path,
    '--name',
    'Loud one',
    '--set',
    'model=3000-T elm',
  )
  t.equal(code, 0, stderr)
  t.match(stdout, /^asked the device: BIOSHAKE 3000-T elm \(simulated\), serial number SIM-0001, firmware v0\.0\.0-simulated\n/)
  t.match(
    stdout,
    /\nwrote .*config\.json \(old copy: .*config\.json\.20[-\dT]+\)\nno service runs on the data folder \S+: the file is read when one starts\n$/,
  )
  t.match(text(), '{\n  // What this bench has.\n  "format": 1,')
  const { devices: written } = JSON.parse(text().replace(/\/\/.*/g, ''))
  t.same(written, [
    {
      device_id: 'shaker-1',
      driver: 'bioshake',
      name: 'Loud one',
      transport: { kind: 'serial', path: shaker.path },
      settings: { model: '3000-T elm' },
      identity: { model: 'BIOSHAKE 3000-T elm (simulated)', serial_number: 'SIM-0001' },
    },
  ])
  t.equal(readFileSync(`${home}/${copies()[0]}`, 'utf8'), empty)
  t.equal((await benchd(home, ['config', 'check', path])).code, 0)
})

test('an instrument that does not answer is added all the same, and one that is not to be asked is not', async (t) => {
  const { devices, shaker, text } = await bench(t)
  shaker.setFault('no_reply')
  const silent = await devices('add', 'shaker-1', '--driver', 'bioshake', '--port', shaker.path)
  t.match(silent, { code: 0, stdout: /^the instrument did not say who it is: / })
  t.notMatch(text(), 'identity')
  const simulated = await devices('add', 'sealer-1', '--driver', 'a4s', '--port', 'simulated', '--no-ask', '--json')
  t.match(JSON.parse(simulated.stdout), { success: true, device_id: 'sealer-1', said: null, restart_needed: false })
  t.equal((await devices('add', 'robot-1', '--driver', 'external')).code, 0)
  const hands = await devices('add', 'hands', '--driver', 'person', '--set', 'confirm=twice')
  t.match(hands, {
    code: 0,
    stdout: /^hands carries labware between the positions that a topology names.*benchd topology load NAME\nwrote /,
  })
  t.match(text(), '"driver": "person"')
})

test('an instrument of another driver is not added, and the driver that fits is named', async (t) => {
  const { devices, shaker, text } = await bench(t)
  const add = (...more: string[]) => devices('add', 'shaker-1', '--driver', 'ika_shaker', '--port', shaker.path, ...more)
  t.match(await add(), {
    code: 1,
    stdout: '',
    stderr: /nothing was changed: .*"u -> IN_PV_4", as an instrument of the driver bioshake does; .*all the same: --no-ask/,
  })
  t.equal(text(), empty)
  t.match(await add('--no-ask'), { code: 0 })
  t.match(text(), '"driver": "ika_shaker"')
})

test('a device behind a box on the network is added, and asked through it', async (t) => {
  const { devices, text } = await bench(t)
  const box = await openBox((bytes) => simulator.receive(bytes))
  t.teardown(() => box.close())
  const settings = { model: '3000-T elm', acceleration: null } as const
  const simulator = driver.simulate({ clock: systemClock, settings, send: (bytes) => box.send(bytes) })
  const add = (port: string) => devices('add', 'shaker-1', '--driver', 'bioshake', '--port', port)
  t.match(await add('tcp://127.0.0.1'), { code: 78, stderr: /shaker-1\.transport\.port is missing: say which port of the serial box/ })
  t.match(await add('tcp://127.0.0.1/'), { code: 2, stderr: /--port tcp:\/\/127\.0\.0\.1\/ is not tcp:\/\/HOST:PORT/ })
  t.match(await add(`tcp://127.0.0.1:${box.port}`), { code: 0, stdout: /^asked the device: BIOSHAKE 3000-T elm/ })
  t.match(text(), new RegExp(`"kind": "tcp",\\s+"host": "127\\.0\\.0\\.1",\\s+"port": ${box.port}`))
  await box.setFault('refuse')
  t.match(await devices('set', 'shaker-1', '--ask'), { code: 1, stderr: /nothing was changed: .*refuses the connection/ })
})

test('what would make the configuration wrong is refused, and nothing is written', async (t) => {
  const { devices, text, copies } = await bench(
    t,
    empty.replace('[]', '[{ "device_id": "sealer-1", "driver": "a4s", "transport": { "kind": "simulated" } }]'),
  )
  const before = text()
  for (const [args, code, words] of [
    [
      ['add', 'shaker-1', '--driver', 'bioshakes', '--port', 'simulated'],
      78,
      /nothing was changed: .*did you mean "bioshake"|nothing was changed: .*driver/,
    ],
    [['add', 'shaker-1', '--driver', 'bioshake'], 78, /shaker-1: transport is missing/],
    [['add', 'shaker-1', '--driver', 'bioshake', '--port', 'simulated', '--set', 'modell=x'], 78, /modell/],
    [['add', 'sealer-1', '--driver', 'a4s', '--port', 'simulated'], 5, /has a device sealer-1 already/],
    [['add', 'shaker 1', '--driver', 'bioshake', '--port', 'simulated'], 78, /device_id/],
    [['add', 'shaker-1', '--port', 'simulated'], 2, /wants --driver/],
    [['set', 'sealer-1', '--set', 'novalue'], 2, /is not KEY=VALUE/],
    [['set', 'sealer-1'], 2, /wants to know what/],
    [['set', 'shaker-1', '--name', 'x'], 3, /has no device shaker-1; it has sealer-1/],
    [['remove', 'shaker-1'], 3, /has no device shaker-1/],
  ] as const) {
    const refused = await devices(...args)
    t.equal(refused.code, code, refused.stderr)
    t.match(refused.stderr, words)
  }
  t.equal(text(), before)
  t.same(copies(), [])
})

test('a file that is no JSON is left as it is', async (t) => {
  const { devices, text } = await bench(t, '{ "format" }')
  t.match(await devices('add', 'a', '--driver', 'external'), { code: 78, stderr: /is not JSON/ })
  t.equal(text(), '{ "format" }')
})

test('a device is changed in its place, setting by setting, and taken out again', async (t) => {
  const pins = '{ "enable": { "bcm": 17 }, "lid": { "bcm": 27 } }'
  const config = empty.replace(
    '[]',
    `[
    // Made by us.
    {
      "device_id": "shaker-1", // the loud one
      "driver": "gpio_shaker",
      "transport": { "kind": "pins" },
      "settings": { "pins": ${pins}, "i2c": { "speed": { "part": "pca9685", "address": 64 } } }
    },
    { "device_id": "robot-1", "driver": "external" } // far away
  ]`,
  )
  const { devices, text } = await bench(t, config)
  const changed = await devices('set', 'shaker-1', '--name', 'Loud', '--set', 'pins.lid.active_low=true', '--set', 'pins.enable.bcm=22')
  t.equal(changed.code, 0, changed.stderr)
  t.match(text(), '"enable": { "bcm": 22 }, "lid": { "bcm": 27, "active_low": true }')
  t.match(text(), '"device_id": "shaker-1", // the loud one')
  t.match(text(), '"name": "Loud"')
  t.equal((await devices('set', 'shaker-1', '--unset', 'pins.lid.active_low')).code, 0)
  t.match(text(), '"lid": { "bcm": 27')
  t.notMatch(text(), 'active_low')
  t.equal((await devices('remove', 'robot-1')).code, 0)
  t.notMatch(text(), /robot-1|far away/)
  t.match(text(), '// Made by us.')
})

test('beside a service a change is in force at once, unless the device is in use, and who has the port is asked through it', async (t) => {
  const { devices, shaker, text, home } = await bench(t)
  t.equal((await devices('add', 'shaker-1', '--driver', 'bioshake', '--port', shaker.path, '--no-ask')).code, 0)
  const service = await served(t, home)
  while (!service.words.some((word) => word.includes('shaker-1: connected'))) await sleep(20)
  const added = await devices('add', 'sealer-1', '--driver', 'a4s', '--port', 'simulated')
  t.match(added, {
    code: 0,
    stdout: /\nreload: taken over: devices: sealer-1 is new; \d+ topolog.*\n$/,
  })
  // The service asks it soon after it is connected.
  let taught = await devices('set', 'shaker-1', '--ask')
  while (taught.stderr.includes('the service has the port, and has not heard yet who it is'))
    taught = await devices('set', 'shaker-1', '--ask')
  t.equal(taught.code, 0, taught.stderr)
  t.match(taught.stdout, /^asked the device: BIOSHAKE/)
  t.match(taught.stdout, /reload: taken over: devices: shaker-1\.identity\.model, devices: shaker-1\.identity\.serial_number/)
  t.match(text(), '"serial_number": "SIM-0001"')
  const removed = await devices('remove', 'sealer-1', '--json')
  const { restart_needed, message } = JSON.parse(removed.stdout) as { restart_needed: boolean; message: string }
  t.equal(restart_needed, false)
  t.match(message, /^reload: taken over: devices: sealer-1 is gone; 1 topology/)
  await service.close()
})

test('a reload that the service refuses needs no restart, unless the file changes what only a restart takes over', async (t) => {
  const { devices, home, path } = await bench(t)
  for (const id of ['robot-1', 'robot-2']) await devices('add', id, '--driver', 'external')
  const service = await served(t, home)
  const lease = await benchd(home, ['devices', 'lock', 'robot-1', '--data-dir', `${home}/data`])
  t.equal(lease.code, 0, lease.stderr)
  const busy = await devices('remove', 'robot-1', '--json')
  t.match(JSON.parse(busy.stdout), { restart_needed: false, reload_refused: true, message: /^reload: robot-1 is .*config reload$/ })
  const set = (...args: string[]) => benchd(home, ['config', 'set', ...args, '--config', path, '--data-dir', `${home}/data`, '--json'])
  const both = await set('events.queue', '50')
  t.match(JSON.parse(both.stdout), { restart_needed: true, reload_refused: true, message: /robot-1 .*config reload\nwhen nothing runs/ })
  await service.close()
})

test('an instrument that cannot be asked is not taught', async (t) => {
  const { devices, shaker, text } = await bench(t)
  await devices('add', 'shaker-1', '--driver', 'bioshake', '--port', shaker.path, '--no-ask')
  const before = text()
  shaker.setFault('no_reply')
  t.match(await devices('set', 'shaker-1', '--ask'), { code: 1, stderr: /nothing was changed: the instrument did not say who it is: / })
  t.equal(text(), before)
})

test('of devices that are added and removed at once none is lost', async (t) => {
  const { devices, text, home, places } = await bench(t)
  await devices('add', 'old', '--driver', 'external')
  const ids = ['r-1', 'r-2', 'r-3', 'r-4']
  const devicesAtOnce = (...args: string[]) => spawned(home, ['devices', ...args, ...places])
  const all = await Promise.all([devicesAtOnce('remove', 'old'), ...ids.map((id) => devicesAtOnce('add', id, '--driver', 'external'))])
  for (const { code, stderr } of all) t.equal(code, 0, stderr)
  const { devices: written } = JSON.parse(text().replace(/\/\/.*/g, ''))
  t.same(written.map(({ device_id }: { device_id: string }) => device_id).sort(), ids)
})

test('one value of the configuration is set in its place, checked before it is written, and others at once are not lost', async (t) => {
  const { devices, home, places, text, copies } = await bench(t)
  await devices('add', 'r-1', '--driver', 'external')
  const set = (...args: string[]) => benchd(home, ['config', 'set', ...args, ...places])
  const setAtOnce = (...args: string[]) => spawned(home, ['config', 'set', ...args, ...places])
  const all = await Promise.all([
    setAtOnce('devices.r-1.name', 'Left one'),
    setAtOnce('listen.port', '8600'),
    setAtOnce('events.queue', '50'),
  ])
  for (const { code, stderr } of all) t.equal(code, 0, stderr)
  t.match(all[0]!.stdout, /^wrote .*config\.json \(old copy: .*\)\nno service runs/)
  const written = JSON.parse(text().replace(/\/\/.*/g, ''))
  t.match(written, { listen: { host: '127.0.0.1', port: 8600 }, devices: [{ device_id: 'r-1', name: 'Left one' }], events: { queue: 50 } })
  t.match(text(), '// What this bench has.')
  const before = [text(), copies().length]
  for (const [args, code, stderr] of [
    [['listen.port', '"many"'], 78, /nothing was changed: .*listen\.port/],
    [['lisen.port', '1'], 78, /did you mean "listen"/],
    [['devices.r-9.name', 'x'], 3, /no device r-9/],
    [['devices.r-1', '{}'], 2, /say what of r-1/],
    [['__proto__.x', '1'], 2, /no place in the configuration/],
  ] as const)
    t.match(await set(...args), { code, stdout: '', stderr }, args.join(' '))
  t.match(await set('listen.port', '8600'), { code: 0, stdout: /says so already/ })
  t.match(await devices('set', 'r-1', '--name', ''), { code: 2, stderr: /--name is empty/ })
  t.match(await devices('set', 'r-1', '--set', '__proto__.x=1'), { code: 2 })
  t.same([text(), copies().length], before)
})
