// The service over https, with a certificate of one's own as scripts/make-cert.sh makes it.

import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { type Test, test } from 'tap'
import { readTls } from '../config/tls.ts'
import { openService } from '../testing/http.ts'

const script = fileURLToPath(new URL('../../../scripts/make-cert.sh', import.meta.url))

function made(t: Test, env: Record<string, string> = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'benchd-tls-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const said = execFileSync(script, [folder], { encoding: 'utf8', env: { ...process.env, ...env } })
  return { folder, said, cert: `${folder}/cert.pem`, key: `${folder}/key.pem` }
}

test('a certificate is made for the names and addresses of this computer, its key for nobody else to read', async (t) => {
  const { said, cert, key, folder } = made(t, { BENCHD_CERT_NAMES: 'bench.lab 10.1.2.3' })
  const certificate = new X509Certificate(readFileSync(cert))
  for (const name of ['localhost', hostname(), `${hostname()}.local`, 'bench.lab']) t.ok(certificate.checkHost(name), name)
  for (const address of ['127.0.0.1', '::1', '10.1.2.3']) t.ok(certificate.checkIP(address), address)
  t.notOk(certificate.checkHost('evil.example'))
  t.equal(statSync(key).mode & 0o007, 0)
  t.match(said, certificate.fingerprint256)
  t.throws(() => execFileSync(script, [folder], { stdio: 'pipe' }), /holds a certificate/, 'it is not lost by accident')
  t.equal(new X509Certificate(readFileSync(cert)).fingerprint256, certificate.fingerprint256)
  execFileSync(script, ['--force', folder], { stdio: 'pipe' })
  t.not(new X509Certificate(readFileSync(cert)).fingerprint256, certificate.fingerprint256)
})

test('with it the service answers over https, to whoever trusts it, and tells its fingerprint', async (t) => {
  const { port, service, secrets, ca } = await serving(t)
  t.match(service.url, /^https:/)
  t.equal(service.fingerprint, new X509Certificate(ca).fingerprint256)
  const answer = await get({ port, ca, key: secrets.read })
  t.match(answer, { status: 200, protocol: /^TLSv1\.[23]$/ })
  t.match(JSON.parse(answer.body), { devices: Array })
  t.equal((await get({ port, ca, key: 'nobody' })).status, 401)
  await t.rejects(get({ port, key: secrets.read }), { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' }, 'who does not trust it sends no key')
})

test('a certificate that is none, or of another key, is told before anything is opened', async (t) => {
  const { cert, key, folder } = made(t)
  writeFileSync(`${folder}/none.pem`, 'no certificate')
  await t.rejects(readTls({ cert: `${folder}/none.pem`, key }), { code: 'config', message: /none\.pem and its key are not right/ })
  const before = readFileSync(cert)
  execFileSync(script, ['--force', folder], { stdio: 'pipe' })
  writeFileSync(cert, before)
  await t.rejects(readTls({ cert, key }), { code: 'config', message: /it is not of this key/ })
  await t.rejects(readTls({ cert: `${folder}/missing.pem`, key }), { code: 'config', message: /cannot be read/ })
})

test('its key vouches for no other name, whoever trusts it', (t) => {
  const { folder, cert, key } = made(t)
  const openssl = (...words: string[]) => execFileSync('openssl', words, { cwd: folder, stdio: 'pipe' })
  const certificate = new X509Certificate(readFileSync(cert))
  t.equal(certificate.ca, false)
  openssl(
    'req',
    '-new',
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:prime256v1',
    '-nodes',
    '-keyout',
    'evil.key',
    '-out',
    'evil.csr',
    '-subj',
    '/CN=bank.example',
  )
  writeFileSync(`${folder}/of-evil`, 'subjectAltName=DNS:bank.example\nbasicConstraints=CA:FALSE\n')
  openssl('x509', '-req', '-in', 'evil.csr', '-CA', cert, '-CAkey', key, '-set_serial', '1', '-extfile', 'of-evil', '-out', 'evil.pem')
  const verified = (name: string, file: string, more: string[]) =>
    spawnSync('openssl', ['verify', ...more, '-purpose', 'sslserver', '-verify_hostname', name, '-CAfile', cert, file], {
      encoding: 'utf8',
    })
  for (const more of [[], ['-x509_strict'], ['-partial_chain'], ['-x509_strict', '-partial_chain']]) {
    t.match(verified('localhost', cert, more), { status: 0, stdout: /: OK/ }, `its own name ${more}`)
    t.match(verified('bank.example', `${folder}/evil.pem`, more), { status: 2, stderr: /invalid CA certificate/ }, `another ${more}`)
    t.match(verified('bank.example', cert, more), { status: 2, stderr: /hostname mismatch/i })
  }
  t.end()
})

const clients: [program: string, words: string[]][] = [
  ['curl', ['-sS', '--cacert']],
  ['wget', ['-qO-', '--ca-certificate']],
  [
    'python3',
    [
      '-c',
      'import ssl, sys, urllib.request; c = ssl.create_default_context(cafile=sys.argv[1]); c.verify_flags |= ssl.VERIFY_X509_STRICT; print(urllib.request.urlopen(sys.argv[2], context=c).read())',
    ],
  ],
  [
    'node',
    [
      '-e',
      'require("node:https").get(process.argv[2], { ca: require("node:fs").readFileSync(process.argv[1]) }, (r) => r.pipe(process.stdout))',
    ],
  ],
]
for (const [program, words] of clients) {
  const skip = spawnSync(program, ['--version']).status !== 0 && `there is no ${program}`
  test(`${program} takes the service that has it, by its name and its address`, { skip }, async (t) => {
    const { port, folder } = await serving(t)
    for (const host of ['localhost', '127.0.0.1']) {
      const child = spawn(program, [...words, `${folder}/cert.pem`, `https://${host}:${port}/health`], {
        stdio: ['ignore', 'pipe', 'pipe'],
      })
      const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)])
      t.match(stdout, /"status":"ok"/, stderr)
    }
  })
}

async function serving(t: Test) {
  const { cert, key, folder } = made(t)
  return { ...(await openService(t, { listen: { host: '127.0.0.1', port: 0, tls: { cert, key } } })), ca: readFileSync(cert), folder }
}

function get({ port, ca, key }: { port: number; ca?: Buffer; key: string }) {
  return new Promise<{ status: number | undefined; body: string; protocol: string | null }>((resolve, reject) => {
    const asking = request(
      { host: '127.0.0.1', port, path: '/api/devices', headers: { 'X-API-Key': key }, ...(ca && { ca }), agent: false },
      (response) => {
        const { getProtocol } = response.socket as unknown as { getProtocol(): string | null }
        const protocol = getProtocol.call(response.socket)
        text(response).then((body) => resolve({ status: response.statusCode, body, protocol }), reject)
      },
    )
    asking.on('error', reject)
    asking.end()
  })
}

test('make-cert.sh says what it cannot put into a certificate and leaves nothing behind; a folder that is there keeps its rights', async (t) => {
  t.teardown(() => undefined)
  const home = t.testdir({ mine: {} })
  const made = (names: string, folder: string) =>
    spawnSync(script, [folder], { cwd: home, env: { ...process.env, BENCHD_CERT_NAMES: names }, encoding: 'utf8' })
  for (const names of ['bench_lab,foo:bar', 'a b;c', '$(id)', '-x', '::gg']) {
    const { status, stderr } = made(names, `${home}/new`)
    t.equal(status, 2, names)
    t.match(stderr, /in BENCHD_CERT_NAMES is neither a name nor an address/)
    t.notOk(existsSync(`${home}/new`))
  }
  const refused = made('1.2.3.999', `${home}/newer`)
  t.equal(refused.status, 1)
  t.match(refused.stderr, /openssl made no certificate for .*1\.2\.3\.999:\n./)
  t.notOk(existsSync(`${home}/newer`))
  chmodSync(`${home}/mine`, 0o710)
  const { status, stdout, stderr } = made('bench_lab, 10.1.2.3,fd00::1', 'mine')
  t.equal(status, 0, stderr)
  t.match(stdout, `"cert": "${home}/mine/cert.pem"`)
  t.equal(statSync(`${home}/mine`).mode & 0o777, 0o710)
  const { subjectAltName } = new X509Certificate(readFileSync(`${home}/mine/cert.pem`))
  t.match(subjectAltName, /DNS:bench_lab, IP Address:10\.1\.2\.3, IP Address:FD00:0:0:0:0:0:0:1/)
})

test('a folder that make-cert.sh makes has the rights that systemd gives it at the next start, and those above it are for everybody', (t) => {
  t.teardown(() => undefined)
  const home = t.testdir({})
  const { status } = spawnSync('sh', ['-c', `umask 022; exec ${script} ${home}/etc/benchd/tls`], { encoding: 'utf8' })
  t.equal(status, 0)
  const mode = (path: string) => (statSync(`${home}/${path}`).mode & 0o777).toString(8).padStart(4, '0')
  const line = /^d \/etc\/benchd\/tls (\d+)/m.exec(readFileSync(new URL('../../../systemd/benchd.tmpfiles', import.meta.url), 'utf8'))
  t.same([mode('etc/benchd/tls'), mode('etc/benchd'), mode('etc/benchd/tls/cert.pem')], [line?.[1], '0755', '0644'])
  t.end()
})
