// Checks that want a service that answers, a certificate or a port of this computer.

import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import { type AddressInfo, createServer } from 'node:net'
import { fileURLToPath } from 'node:url'
import { test } from 'tap'
import { checkConfig } from '../../config.ts'
import { HostFiles } from '../../kit/host_files.ts'
import { installation } from '../../kit/installation.ts'
import { freePort } from '../../kit/ports.ts'
import { boxes } from './boxes.ts'
import { bridges } from './bridges.ts'
import { cameras } from './cameras.ts'
import { node } from './machine.ts'
import { certificate, network } from './network.ts'
import { notify } from './notify.ts'
import type { Patient, ServiceView } from './patient.ts'
import { service } from './service.ts'

type Given = { listen?: object; devices?: object[]; seen?: ServiceView }

async function patient({ listen = {}, devices = [], seen = { is: 'absent' } }: Given = {}): Promise<Patient> {
  return {
    files: new HostFiles(),
    data_dir: '/none',
    config: await checkConfig({ format: 1, listen, devices }, 'the bench'),
    service: seen,
    as: { name: 'me', uid: 0, gids: [] },
    is_this: true,
    may_ask: false,
    installation: installation(),
    modules: [],
    room: async () => ({ free: 1, total: 1 }),
    sync: async () => 1,
    pins: async () => [],
  }
}

test('a Node that is too old fails, and one that nobody maintains is a warning', async (t) => {
  const packaged = 'Package: npm\nVersion: 9.2.0\n\nPackage: nodejs\nStatus: install ok installed\nVersion: 20.19.2+dfsg-1+deb13u1\n'
  const debian = { files: new HostFiles(t.testdir({ var: { lib: { dpkg: { status: packaged } } } })), is_this: true }
  const other = { files: new HostFiles('/none'), is_this: true }
  for (const [files, version, today, level, finding] of [
    [other, '18.20.4', '2026-01-01', 'FAIL', /too old/],
    [other, '20.18.3', '2026-01-01', 'FAIL', /too old/],
    [other, '20.19.0', '2026-04-30', 'OK', /Node\.js project maintains version 20 until 2026-04-30/],
    [other, '20.19.2', '2026-05-01', 'WARN', /nobody is known to maintain it/],
    [debian, '20.19.2', '2026-05-01', 'OK', /Debian 13 maintains its package nodejs until 2028-08-09/],
    [debian, '20.19.9', '2026-05-01', 'WARN', /nobody/],
    [debian, '20.19.2', '2028-08-10', 'WARN', /nobody/],
    [other, '22.1.0', '2026-11-28', 'OK', /until 2027-04-30/],
    [other, '27.0.0', '2026-11-28', 'OK', /does not know/],
  ] as const)
    t.match(await node(files, { version, today }), { level, finding }, `${version} ${today}`)
  t.match(await node({ ...other, is_this: false }, { version: '20.19.2', today: '2026-05-01' }), { level: 'OK', finding: /newer\)$/ })
  t.match(await node(other, { version: '20.19.2', today: '2027-06-01' }), { fix: /^install Node 24 .* or Node 26 .*Debian 13$/ })
})

test('a device behind a box on the network is told as open to everybody there, with what the box must be set to', async (t) => {
  const at = (device_id: string, host: string) => ({ device_id, driver: 'bioshake', transport: { kind: 'tcp', host, port: 4001 } })
  const found = await boxes(await patient({ devices: [at('shaker-1', '192.168.1.20'), at('shaker-2', '127.0.0.1')] }))
  t.equal(found.length, 1)
  t.match(found[0], {
    level: 'WARN',
    finding: /shaker-1: its line to 192\.168\.1\.20:4001 is unencrypted and has no key/,
    fix: /9600 baud/,
  })
  const arm = { device_id: 'arm-1', driver: 'precise_flex', transport: { kind: 'tcp', host: '192.168.1.21' } }
  t.match(
    await boxes(await patient({ devices: [arm] })),
    [{ finding: /line to 192\.168\.1\.21:10100 .* who reaches the instrument/, fix: /through to it$/ }],
    'an instrument that listens itself has no box',
  )
})

test('whose rights the program of a bridge has, and the network between, are told', async (t) => {
  const bridge = (device_id: string, place: object) => ({
    device_id,
    driver: 'bridge',
    type: 'reader',
    transport: { kind: 'bridge', ...place },
  })
  const devices = [
    bridge('reader-1', { command: ['reader', '--token', 'T0K3N'] }),
    bridge('reader-2', { host: '192.168.1.20', port: 4100, trusted_network: true }),
    bridge('reader-3', { host: '127.0.0.1', port: 4100 }),
    bridge('reader-4', { socket: '/run/reader.sock' }),
  ]
  const own = await patient({ devices })
  t.match(await bridges(own), [
    { level: 'WARN', finding: /^reader-1: its program runs as a child process of the service/, fix: /nothing that you do not trust/ },
    { level: 'WARN', finding: /^reader-2: its line to 192\.168\.1\.20:4100 is unencrypted and has no key/, fix: /keep 192\.168\.1\.20/ },
  ])
  const root = t.testdir({ run: { systemd: { system: {} }, 'benchd-bridges': {} } })
  const managed = { ...own, files: new HostFiles(root), data_dir: `${root}/var/lib/benchd` }
  const fix = 'sudo systemctl enable --now benchd-bridge@reader-1.socket'
  t.match((await bridges(managed))[0], { level: 'FAIL', finding: /^reader-1: systemd does not listen/, fix })
  writeFileSync(`${root}/run/benchd-bridges/reader-1.sock`, '')
  t.match((await bridges(managed))[0], { level: 'OK', finding: /^reader-1: systemd runs its program as a user of its own/ })
  t.notMatch(JSON.stringify([await bridges(own), await bridges(managed)]), 'T0K3N')
})

test('the program of a bridge that is not there is named, and no other argument', async (t) => {
  const transport = { kind: 'bridge', command: ['/none/python3', '/none/reader.py', '/T0K3N'] }
  const found = await bridges(await patient({ devices: [{ device_id: 'reader-1', driver: 'bridge', type: 'reader', transport }] }))
  t.match(found, [
    { level: 'FAIL', finding: 'reader-1: its command names /none/python3, which is not there', fix: /mend "command"/ },
    { level: 'FAIL', finding: 'reader-1: its command names /none/reader.py, which is not there' },
    { level: 'WARN' },
  ])
  t.notMatch(JSON.stringify(found), 'T0K3N')
})

test('a bridge that no LIVE run may use is told with what to do', async (t) => {
  const unfit = 'its program proposes to halt it by abort, which nobody has accepted; if it ends all heat, add "--halt abort"'
  const seen: ServiceView = {
    is: 'answering',
    get: async <Answer>(path: string) => ({ unfit: path.endsWith('/reader-1') ? unfit : null }) as Answer,
  }
  const bridge = (device_id: string) => ({
    ...{ device_id, driver: 'bridge', type: 'reader' },
    transport: { kind: 'bridge', socket: '/run/reader.sock' },
  })
  t.match(await bridges(await patient({ devices: [bridge('reader-1'), bridge('reader-2')], seen })), [
    {
      level: 'WARN',
      finding: 'reader-1: no LIVE run may use it: its program proposes to halt it by abort, which nobody has accepted',
      fix: 'if it ends all heat, add "--halt abort"',
    },
  ])
})

test('a receiver that no message reaches is named with why, one that takes them is well', async (t) => {
  const receiver = { waiting: 0, delivered_at: null, failure: null }
  const receivers = [
    { ...receiver, host: 'the address in slack', waiting: 2, failure: 'slack cannot be read: there is no such file' },
    { ...receiver, host: 'ntfy.example.org', delivered_at: 1 },
    { ...receiver, host: 'hooks.example.org' },
  ]
  const view: ServiceView = { is: 'answering', get: async <Answer>() => ({ receivers }) as Answer }
  const bench = await patient({ seen: view })
  t.same(await notify(bench), [], 'nothing without a receiver')
  const config = await checkConfig({ format: 1, notify: [{ url: { file: 'slack' } }] }, 'the bench')
  t.match(await notify({ ...bench, config }), [
    { level: 'WARN', finding: /^no message reaches the address in slack: slack cannot be read.*; 2 wait$/, fix: /benchd notify test/ },
    { level: 'OK', finding: 'ntfy.example.org took the last message' },
    { level: 'OK', finding: /^hooks\.example\.org: no message was sent yet/ },
  ])
  t.match(await notify({ ...bench, config, service: { is: 'absent' } }), [{ level: 'SKIP' }])
})

test('a camera that sends no picture is named with why, and without its password', async (t) => {
  const bench = await patient({})
  t.same(await cameras(bench), [], 'nothing without a camera')
  const server = createHttpServer((_, response) => response.end(Buffer.from('ffd8ffe0', 'hex'))).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  const [good, dead] = [`http://127.0.0.1:${port}/`, `http://me:T0K3N@127.0.0.1:${await freePort()}/`]
  const config = await checkConfig(
    {
      format: 1,
      cameras: [
        { name: 'deck', url: good },
        { name: 'door', url: dead },
      ],
    },
    'the bench',
  )
  const found = await cameras({ ...bench, config })
  t.match(found, [
    { level: 'OK', finding: 'deck sent a picture: image/jpeg, 1 KiB' },
    { level: 'WARN', finding: 'the camera door could not be reached (ECONNREFUSED)', fix: /url in cameras/ },
  ])
  t.notMatch(JSON.stringify(found), 'T0K3N')
})

test('a service that is degraded says with what, and each word has its fix', async (t) => {
  const reasons = ['storage', 'disk', 'clock', 'under_voltage', 'temperature', 'stop_input', 'safe_mode', 'of tomorrow']
  const health = { status: 'degraded', version: '1.2.3', uptime_s: 7300, reasons }
  const seen: ServiceView = { is: 'answering', get: async <Answer>() => health as Answer }
  const [first, ...rest] = await service(await patient({ seen }))
  t.match(first, { level: 'OK', finding: /^answers, version 1\.2\.3, up 2 h/ })
  t.same(
    rest.map(({ level, finding }) => `${level} ${finding}`),
    reasons.map((reason) => `WARN it says degraded: ${reason}`),
  )
  for (const { fix } of rest) t.ok(fix)
})

test('a certificate warns a month before it ends, and fails from then on', async (t) => {
  const folder = t.testdir({})
  const script = fileURLToPath(new URL('../../../../scripts/make-cert.sh', import.meta.url))
  execFileSync(script, [folder], { stdio: 'pipe' })
  const bench = await patient({ listen: { tls: { cert: `${folder}/cert.pem`, key: `${folder}/key.pem` } } })
  const inDays = (days: number) => certificate(bench, Date.now() + days * 86_400_000)
  t.match(await inDays(0), [{ level: 'OK', finding: /good for 82\d days more$/ }])
  t.match(await inDays(800), [
    { level: 'WARN', finding: /good for 2\d days more$/, fix: `${script} --force ${folder}, then: benchd config reload` },
  ])
  t.match(await inDays(830), [{ level: 'FAIL', finding: /^the certificate ended on / }])
  t.match(await inDays(-3), [{ level: 'WARN', fix: /clock/ }])
  const made = readFileSync(script, 'utf8').replace('CA:FALSE', 'CA:TRUE').replace('digitalSignature', 'digitalSignature,keyCertSign')
  execFileSync('sh', ['-c', made, 'make-cert.sh', '--force', folder], { stdio: 'pipe' })
  t.match(await inDays(0), [
    { level: 'WARN', finding: /^the certificate may sign others/, fix: `${script} --force ${folder}, then: benchd config reload` },
  ])
  const gone = await patient({ listen: { tls: { cert: '/none.pem', key: '/none.pem' } } })
  t.match(await certificate(gone), [{ level: 'FAIL', finding: /listen\.tls: \/none\.pem cannot be read/ }])
  t.match(await certificate(await patient()), [
    { level: 'SKIP', finding: /^it is off/, fix: `${script} makes a certificate; name it in listen.tls` },
  ])
})

test('a port that another program has fails, one that is free is told with the addresses', async (t) => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const bench = await patient({ listen: { host: '127.0.0.1', port } })
  t.match(await network(bench), [{ level: 'FAIL', finding: `another program has port ${port}`, fix: /ss -ltnp/ }])
  server.close()
  await once(server, 'close')
  t.match(await network(bench), [{ level: 'OK', finding: `only this computer reaches it: http://127.0.0.1:${port}` }])
  const elsewhere = await patient({ listen: { host: '203.0.113.9', port } })
  t.match(await network(elsewhere), [{ level: 'FAIL', finding: 'this computer has no address 203.0.113.9', fix: /listen\.host/ }])
  t.match(await network(await patient({ listen: { host: '10.1.2.3', port: 0 } })), [{ level: 'OK', finding: 'http://10.1.2.3:0' }])
})
