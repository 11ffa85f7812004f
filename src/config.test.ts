import { test } from 'tap'
import { driverNames, drivers } from '../drivers/index.ts'
import { parseConfig, readConfig } from './config.ts'

const shaker = { device_id: 'shaker-1', driver: 'bioshake', transport: { kind: 'simulated' } }

function config(content: object): Promise<Awaited<ReturnType<typeof parseConfig>>> {
  return parseConfig(JSON.stringify({ format: 1, ...content }), 'config.json')
}

test('a device with a simulated transport is a device out of the box', async (t) => {
  const { devices, listen } = await config({ devices: [shaker] })
  t.match(devices[0], { device_id: 'shaker-1', name: 'shaker-1', kind: 'driven', transport: { kind: 'simulated' } })
  t.same(listen, { host: '0.0.0.0', port: 8520, tls: null })
})

test('comments and a comma too many are forgiven', async (t) => {
  const text = `{
    // the bench by the window
    "format": 1, /* and no "devices" yet */
    "devices": [], "hosts": ["a//b.example", "c,]"],
  }`
  t.same((await parseConfig(text, 'config.json')).hosts, ['a//b.example', 'c,]'])
})

test('every driver refuses a setting that it does not know, and a value that the setting cannot have', async (t) => {
  for (const driver of driverNames) {
    const refused = (settings: object, message: RegExp) =>
      t.rejects(config({ devices: [{ device_id: 'one', driver, transport: { kind: 'simulated' }, settings }] }), { message }, driver)
    await refused({ nonsense: 1 }, /one\.settings: there is no member nonsense|one\.settings: .*takes no/)
    const { settings } = (await drivers[driver]()) as unknown as { settings: { entries: object } }
    for (const name of Object.keys(settings.entries)) await refused({ [name]: [[]] }, new RegExp(`one\\.settings: ${name}\\b`))
  }
})

test('what is wrong is told with its place and what was meant', async (t) => {
  const cases: [object, RegExp][] = [
    [{ devises: [] }, /config\.json: there is no member devises; did you mean "devices"\?/],
    [{ devices: [{ ...shaker, trasport: {} }] }, /there is no member devices\[0\]\.trasport; did you mean "transport"\?/],
    [{ devices: [{ ...shaker, settings: { modle: 'D30 elm' } }] }, /shaker-1\.settings: there is no member modle; did you mean "model"\?/],
    [{ devices: [{ ...shaker, driver: 'bioshaker' }] }, /devices\[0\]\.driver must be one of "bioshake".*not "bioshaker"/],
    [{ devices: [{ ...shaker, transport: { kind: 'serial' } }] }, /devices\[0\]\.transport\.path is missing/],
    [{ devices: [{ device_id: 'shaker-1', driver: 'bioshake' }] }, /shaker-1: transport is missing/],
    [{ devices: [shaker, shaker] }, /two devices are called shaker-1/],
    [{ devices: [{ ...shaker, limits: { sped: { max: 5 } } }] }, /no limit "sped"; did you mean "speed"\?/],
    [{ devices: [{ ...shaker, limits: { speed: { max: 9000 } } }] }, /the model takes 200 to 3000 rpm/],
    [{ devices: [{ ...shaker, limits: { speed: { min: 900, max: 300 } } }] }, /min 900 is above max 300/],
    [{ listen: { port: 70000 } }, /listen\.port/],
    [{ time_scale: 0.5 }, /time_scale/],
    [{ format: 2 }, /format must be 1, not 2/],
  ]
  for (const [content, message] of cases) await t.rejects(config(content), { code: 'config', message }, String(message))
})

test('all mistakes of a configuration are told at once, each with its place', async (t) => {
  const content = {
    lisen: {},
    time_scael: 2,
    devices: [
      { device_id: 'shaker-1', drvier: 'bioshake', transport: { kind: 'simulated' } },
      { ...shaker, driver: 'bioshaek' },
      { ...shaker, device_id: 'shaker-3', transport: { kind: 'serail' } },
      { ...shaker, device_id: 'shaker-4', settings: { modle: 1, modell: 2 }, transport: undefined },
      { ...shaker, device_id: 'shaker-5', limits: { sped: { max: 5 }, speed: { max: 9000 } } },
      { ...shaker, device_id: 'shaker-5' },
      { device_id: 'robot-1', driver: 'external', transport: { kind: 'simulated' }, limits: { speed: {} } },
    ],
  }
  const message = await config(content).then(
    () => '',
    (error: Error) => error.message,
  )
  const [first, ...mistakes] = message.split('\n')
  t.equal(first, 'config.json has 14 mistakes:')
  const wanted = [
    /^ {2}there is no member lisen; did you mean "listen"\?$/,
    /^ {2}there is no member time_scael; did you mean "time_scale"\?$/,
    /^ {2}there is no member devices\[0\]\.drvier; did you mean "driver"\?$/,
    /^ {2}devices\[1\]\.driver must be one of .*, not "bioshaek"; did you mean "bioshake"\?$/,
    /^ {2}devices\[2\]\.transport\.kind must be one of .*, not "serail"; did you mean "serial"\?$/,
    /^ {2}two devices are called shaker-1/,
    /^ {2}two devices are called shaker-5/,
    /^ {2}shaker-4: transport is missing/,
    /^ {2}shaker-4\.settings: there is no member modle; did you mean "model"\?$/,
    /^ {2}shaker-4\.settings: there is no member modell; did you mean "model"\?$/,
    /^ {2}shaker-5\.limits: there is no limit "sped"; did you mean "speed"\?$/,
    /^ {2}shaker-5\.limits\.speed: the model takes 200 to 3000 rpm/,
    /^ {2}robot-1: .* takes no transport$/,
    /^ {2}robot-1: .* takes no limits$/,
  ]
  for (const pattern of wanted)
    t.ok(
      mistakes.some((mistake) => pattern.test(mistake)),
      String(pattern),
    )
  t.notMatch(message, /driver is missing/, 'the misspelled member is reported once')
})

async function mistakesOf(content: object): Promise<string[]> {
  const error = await config(content).then(
    () => new Error(''),
    (error: Error) => error,
  )
  return error.message.split('\n')
}

test('of very many mistakes a hundred are listed, and the others counted', async (t) => {
  const more = Object.fromEntries(Array.from({ length: 120 }, (_, i) => [`unknown_${i}`, i]))
  const lines = await mistakesOf({ ...more, devices: [{ ...shaker, ...more }], time_scale: 0 })
  t.equal(lines[0], 'config.json has 241 mistakes:')
  t.equal(lines.length, 102)
  t.equal(lines.at(-1), '  and 141 more')
})

test('the right parts of a device that has a wrong shape are checked all the same', async (t) => {
  const pins = wired({ enable: { bcm: 17 } })
  t.same(
    await mistakesOf({
      time_scale: 0,
      stop_input: { bcm: 17 },
      devices: [
        { ...shaker, name: 5, settings: { modle: '' }, transport: { kind: 'serail' } },
        { ...shaker, device_id: 'a b', limits: { sped: { max: 5 } } },
        { ...shaker, transprot: { kind: 'simulated' }, transport: undefined },
        { ...pins, device_id: 'wired-1', on_restart: 'stay' },
        null,
      ],
    }).then((lines) => lines.map((line) => line.replace(/must be one of .*, not/, 'must be one of …, not'))),
    [
      'config.json has 11 mistakes:',
      '  there is no member devices[2].transprot; did you mean "transport"?',
      '  time_scale must be at least 1, not 0',
      '  devices[0].name must be a text, not 5',
      '  devices[0].transport.kind must be one of …, not "serail"; did you mean "serial"?',
      '  devices[1].device_id must be 1 to 64 letters, digits, hyphens and underscores',
      '  devices[3].on_restart must be one of …, not "stay"',
      '  devices[4] must be an object, not null',
      '  two devices are called shaker-1; give each an id of its own',
      '  shaker-1.settings: there is no member modle; did you mean "model"?',
      '  devices[1].limits: there is no limit "sped"; did you mean "speed"?',
      '  stop_input and wired-1 both use GPIO 17: that is one line; see which of them is there',
    ],
  )
})

test('a member that JavaScript keeps for itself is refused and named, and not passed over', async (t) => {
  const text = '{"format": 1, "devices": [{"device_id": "a", "driver": "external", "limits": {"constructor": {"max": 5}}}]}'
  await t.rejects(parseConfig(text, 'it'), { code: 'config', message: /^it has a member called constructor/ })
})

test('an id that would break a path or the name of an event is refused', async (t) => {
  for (const device_id of ['a.b', 'a/b', '', 'x'.repeat(65), 'bulk', 'export', 'constructor', '__proto__', 'schüttler']) {
    await t.rejects(config({ devices: [{ ...shaker, device_id }] }), { code: 'config', message: /devices\[0\]\.device_id/ }, device_id)
  }
})

test('two devices cannot be on one port, whatever it is called', async (t) => {
  const folder = t.testdir({ port: '', byId: t.fixture('symlink', 'port') })
  const onPort = (device_id: string, path: string) => ({ ...shaker, device_id, transport: { kind: 'serial', path } })
  const devices = [onPort('a', `${folder}/port`), onPort('b', `${folder}/byId`)]
  await t.rejects(config({ devices }), { code: 'config', message: /a and b are on one port/ })
})

test('a device on a line may be behind a box on the network, unless its driver changes the speed of the line', async (t) => {
  const at = (more: object = {}) => ({ ...shaker, transport: { kind: 'tcp', host: '192.168.1.20', port: 4001, ...more } })
  const { devices } = await config({ devices: [at()] })
  t.match(devices[0], { kind: 'driven', transport: { kind: 'tcp', host: '192.168.1.20', port: 4001 } })
  for (const [wrong, message] of [
    [[at({ port: 0 })], /devices\[0\]\.transport\.port/],
    [[at({ port: 70_000 })], /devices\[0\]\.transport\.port/],
    [[at({ host: 'tcp://box' })], /transport\.host must be a name or an address, without a scheme or a port/],
    [[at({ host: '' })], /transport\.host/],
    [[at({ host: '192.168.1.20x' })], /transport\.host must be a name or an address/],
    [[at({ path: '/dev/ttyS0' })], /there is no member devices\[0\]\.transport\.path/],
    [[{ ...at(), driver: 'vspin' }], /shaker-1: its driver changes the speed of the line while it talks, which a box .*"serial"/],
    [[{ ...at(), driver: 'gpio_shaker' }], /shaker-1: its transport must be \{"kind": "pins"\}/],
    [[at({ host: 'localhost' }), { ...at({ host: '127.0.0.1' }), device_id: 'shaker-2' }], /on one port, 127\.0\.0\.1:4001/],
    [[at({ host: '127.0.0.1' }), { ...at({ host: 'Localhost.' }), device_id: 'shaker-2' }], /on one port, localhost\.:4001/],
    [[at({ host: 'Box' }), { ...at({ host: 'box' }), device_id: 'shaker-2' }], /shaker-1 and shaker-2 are on one port, box:4001/],
  ] as const)
    await t.rejects(config({ devices: wrong }), { code: 'config', message })
})

test('an instrument on the network has the port of its driver unless another one is named, and no serial port', async (t) => {
  const at = (transport: object, more: object = {}) => ({ device_id: 'spin-1', driver: 'microspin', transport, ...more })
  const here = { kind: 'tcp', host: '192.168.127.60' }
  t.match((await config({ devices: [at(here)] })).devices[0], { transport: { ...here, port: 1000 } })
  t.match((await config({ devices: [at({ ...here, port: 2000 })] })).devices[0], { transport: { ...here, port: 2000 } })
  for (const [wrong, message] of [
    [[at({ kind: 'serial', path: '/dev/ttyS0' })], /spin-1: its transport must be \{"kind": "tcp", "host": "…"\}/],
    [[at({ kind: 'tcp' })], /transport\.host/],
    [[at(here), at({ ...here, port: 1000 }, { device_id: 'spin-2' })], /spin-1 and spin-2 are on one port, 192\.168\.127\.60:1000/],
    [[{ ...shaker, transport: here }], /shaker-1\.transport\.port is missing: say which port of the serial box has the line/],
  ] as const)
    await t.rejects(config({ devices: wrong }), { code: 'config', message })
})

test('the program of a bridge is a command, a socket or a port, and on another computer only where its network is trusted', async (t) => {
  const at = (place: object) => ({ device_id: 'reader-1', driver: 'bridge', type: 'reader', transport: { kind: 'bridge', ...place } })
  const good = [
    { command: ['python3', '/opt/reader.py'] },
    { socket: '/run/reader.sock' },
    ...['localhost', '127.0.0.1', '127.8.9.10', '::1'].map((host) => ({ host, port: 4100 })),
  ]
  for (const place of good) t.match((await config({ devices: [at(place)] })).devices[0], { kind: 'bridge', transport: place })
  const far = { host: '192.168.1.20', port: 4100 }
  t.match((await config({ devices: [at({ ...far, trusted_network: true })] })).devices[0], { transport: far })
  const refused =
    /reader-1: \S+ is another computer, and a bridge asks for no key; if the network between is trusted, say "trusted_network": true/
  for (const host of ['192.168.1.20', '0.0.0.0', '127.0.0.1.lab', 'localhost.lab', '128.0.0.1', '::2', '::ffff:192.168.1.20'])
    for (const more of [{}, { trusted_network: false }])
      await t.rejects(config({ devices: [at({ host, port: 4100, ...more })] }), { code: 'config', message: refused }, host)
  for (const place of [
    {},
    { host: '127.0.0.1' },
    { port: 4100 },
    { socket: '/run/reader.sock', command: ['reader'] },
    { ...far, socket: '/x' },
  ])
    await t.rejects(config({ devices: [at(place)] }), { code: 'config', message: /reader-1: its transport must be/ }, JSON.stringify(place))
})

test('an external device takes no transport', async (t) => {
  const robot = { device_id: 'robot-1', driver: 'external' }
  t.match((await config({ devices: [robot] })).devices[0], { kind: 'external' })
  await t.rejects(config({ devices: [{ ...robot, transport: { kind: 'simulated' } }] }), { message: /driven elsewhere/ })
  await t.rejects(config({ devices: [{ ...robot, settings: { speed: 1 } }] }), { message: /takes no settings/ })
})

test('a person takes settings, and neither a transport nor limits; all mistakes are told at once', async (t) => {
  const hands = { device_id: 'hands', driver: 'person' }
  const usual = { confirm: 'once', reminder_s: 120, ask_barcode: false, shared_space: false }
  t.match((await config({ devices: [hands] })).devices[0], { kind: 'person', name: 'hands', settings: usual })
  const asked = { ...hands, name: 'Anybody', settings: { confirm: 'twice', shared_space: true } }
  t.match((await config({ devices: [asked] })).devices[0], { name: 'Anybody', settings: { ...usual, ...asked.settings } })
  const wrong = [
    [{ transport: { kind: 'simulated' } }, /hands: a person takes no transport; leave it out/],
    [{ limits: { speed: { max: 5 } } }, /hands: a person takes no limits; leave them out/],
    [{ settings: { confirm: 'thrice' } }, /hands\.settings: confirm must be one of "once", "twice"/],
    [{ settings: { reminder: 5 } }, /hands\.settings: there is no member reminder; did you mean "reminder_s"\?/],
    [{ settings: { reminder_s: 0 } }, /hands\.settings: reminder_s/],
  ] as const
  for (const [more, message] of wrong) await t.rejects(config({ devices: [{ ...hands, ...more }] }), { code: 'config', message })
  const all = config({ devices: [Object.assign({}, hands, ...wrong.slice(0, 3).map(([more]) => more))] })
  await t.rejects(all, { message: /takes no transport.*takes no limits.*confirm must be/s })
})

test('a file that is not there, or no JSON, is named', async (t) => {
  await t.rejects(readConfig(`${t.testdir()}/nothing.json`), { code: 'config', message: /nothing\.json cannot be read/ })
  await t.rejects(parseConfig('{"format": 1,,}', 'config.json'), { code: 'config', message: /config\.json is not JSON/ })
})

test('the example that ships is good', async (t) => {
  const { devices } = await readConfig(new URL('../../systemd/config.example.json', import.meta.url).pathname)
  t.equal(devices.length, 3)
})

const wired = (pins: object, bus = 1) => ({
  device_id: `diy-${JSON.stringify(pins).length}-${bus}`,
  driver: 'gpio_shaker',
  transport: { kind: 'pins' },
  settings: { pins, i2c: { speed: { bus } } },
})

test('a device on pins says how it is wired, and on what', async (t) => {
  const { devices } = await config({ devices: [wired({ enable: { bcm: 17, active_low: true } })] })
  t.match(devices[0], { transport: { kind: 'pins' }, settings: { pins: { enable: { bcm: 17, active_low: true } } } })
  const { settings, ...unwired } = wired({ enable: { bcm: 17 } })
  const cases: [object, RegExp][] = [
    [unwired, /settings\.pins is missing: say how it is wired/],
    [{ ...unwired, settings: { pins: settings.pins } }, /settings\.i2c is missing/],
    [{ ...unwired, settings, transport: { kind: 'serial', path: '/dev/null' } }, /its transport must be \{"kind": "pins"\}/],
    [{ ...shaker, transport: { kind: 'pins' } }, /its transport must be \{"kind": "serial", "path": "…"\}/],
    [wired({ enable: { bcm: 58 } }), /settings: pins\.enable\.bcm must be at most 57/],
    [wired({ enable: { expander: { part: 'mcp23017', address: 32, pin: 'C1' } } }), /settings: pins\.enable\.expander\.pin: /],
  ]
  for (const [device, message] of cases) await t.rejects(config({ devices: [device] }), { code: 'config', message })
})

test('a pin and a part on a bus belong to one device', async (t) => {
  const expander = (pin: string) => ({ expander: { part: 'mcp23017', address: 32, pin } })
  const both = (one: object, other: object) => config({ devices: [one, other] })
  const message = (place: string) => ({ code: 'config', message: new RegExp(`both use ${place}`) })
  await t.rejects(both(wired({ enable: { bcm: 17 } }), wired({ enable: { bcm: 17, active_low: true } }, 3)), message('GPIO 17'))
  await t.rejects(both(wired({ enable: { bcm: 17 } }), wired({ enable: { bcm: 4 } })), message('address 96 of I2C bus 1'))
  await t.rejects(both(wired({ enable: expander('A0') }), wired({ enable: { ...expander('A0'), active_low: true } }, 3)), message('pin A0'))
  await t.resolves(both(wired({ enable: expander('A0') }), wired({ enable: { ...expander('A1'), active_low: true } }, 3)))
})

const sealer = (sensor: object, more: object = {}) => ({
  device_id: 'sealer-1',
  driver: 'gpio_sealer',
  transport: { kind: 'pins' },
  settings: { pins: { heater: { bcm: 5 }, clamp: { bcm: 6 } }, i2c: { sensor }, ...more },
})

test('what is wired to one place is refused however it is written', async (t) => {
  const on = (part: string, address: number, pin: string) => ({ expander: { part, address, pin } })
  const header = { chip: 'pinctrl-bcm2711', line: 17 }
  const cases: [object, RegExp][] = [
    [{ stop_input: { bcm: 17 }, devices: [wired({ enable: { bcm: 17 } })] }, /stop_input and diy-\S+ both use GPIO 17/],
    [{ stop_input: header, devices: [wired({ enable: { bcm: 17 } })] }, /stop_input uses line 17 of pinctrl-bcm2711, and diy-\S+ GPIO 17/],
    [{ devices: [wired({ enable: { bcm: 17 }, solenoid: { bcm: 17 } })] }, /uses GPIO 17 twice/],
    [{ devices: [wired({ enable: { bcm: 17 }, solenoid: header })] }, /that is one line/],
    [{ devices: [wired({ enable: { chip: 'gpiochip0', line: 17 }, solenoid: header })] }, /that may be one line; call both chips by/],
    [{ devices: [wired({ enable: on('mcp23017', 32, 'A0'), solenoid: on('pcf8574', 32, 'P0') })] }, /only one part can be at an address/],
    [{ devices: [wired({ enable: on('pcf8574', 72, 'P0') }), sealer({ address: 72 })] }, /only one part can be at an address/],
    [{ devices: [wired({ enable: { bcm: 2 } })] }, /uses GPIO 2, and diy-\S+ address 96 of I2C bus 1: I2C bus 1 runs on that pin/],
    [{ devices: [sealer({})], stop_input: { bcm: 3 } }, /I2C bus 1 runs on that pin/],
  ]
  for (const [content, message] of cases) await t.rejects(config(content), { code: 'config', message })
  await t.resolves(config({ devices: [wired({ enable: { bcm: 2 } }, 3)] }), 'a bus that is not used has no pins')
  await t.resolves(config({ devices: [wired({ enable: { bcm: 17 }, solenoid: { chip: 'mcp', line: 17 } })] }))
})

test('the stop input is on a pin that there is', async (t) => {
  await t.rejects(config({ stop_input: { bcm: 58 } }), { code: 'config', message: /stop_input/ })
  t.match(await config({ stop_input: { chip: 'gpiochip0', line: 5 } }), { stop_input: { chip: 'gpiochip0', line: 5, active_low: false } })
})

test('a range without anything in it is refused', async (t) => {
  const shaking = (more: object) => {
    const device = wired({ enable: { bcm: 17 } })
    return { ...device, settings: { ...device.settings, ...more } }
  }
  const cases: [object, RegExp][] = [
    [shaking({ rpm: { min: 1000, max: 500 } }), /rpm\.min must be at most rpm\.max/],
    [shaking({ rpm: { min: 1000, max: 1500 }, full_scale_rpm: 800 }), /rpm\.min must be at most full_scale_rpm/],
    [sealer({}, { temperature: { min: 180, max: 100 } }), /temperature\.min must be at most temperature\.max/],
    [sealer({ part: 'mcp9808', address: 24 }, { temperature: { min: 150, max: 190 } }), /temperature\.min must be 10 °C or more below/],
  ]
  for (const [device, message] of cases) await t.rejects(config({ devices: [device] }), { code: 'config', message })
})

test('a transporter with a program behind it says how it is sent to a place, and is halted by a message', async (t) => {
  const simulated = { device_id: 'arm-9', driver: 'simulated', type: 'transporter', transport: { kind: 'simulated' } }
  const bridge = { ...simulated, driver: 'bridge', transport: { kind: 'bridge', command: ['python3', '/arm.py'] } }
  await t.rejects(config({ devices: [simulated] }), { message: /arm-9\.settings: points is missing; "taught" .*"own"/ })
  const reader = { ...simulated, type: 'reader', settings: { points: 'own' } }
  await t.rejects(config({ devices: [reader] }), { message: /only a transporter has points and skills, and its type is reader/ })
  await t.rejects(config({ devices: [{ ...bridge, settings: { halt: 'kill' } }] }), { message: /not halted by the end of its program/ })
  const { devices } = await config({
    devices: [
      { ...simulated, settings: { points: 'own' } },
      { ...bridge, device_id: 'arm-8' },
    ],
  })
  t.match(devices, [{ type: 'transporter' }, { type: 'transporter', settings: { move_timeout_s: 60, uninterruptible: false } }])
})
