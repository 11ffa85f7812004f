import { test } from 'tap'
import { configWithoutSecrets, contentsOf, withoutSecrets } from './bundle.ts'

const key = `bk_a1b2c3d4_${'Ab-_'.repeat(10)}xyz`

test('no key, hash or password is left in a text, however it stands there', (t) => {
  const pem = `-----BEGIN EC PRIVATE KEY-----\n${'MHcCAQ'.repeat(10)}\n-----END EC PRIVATE KEY-----`
  const texts = [
    `it was ${key}.`,
    `GET /#k=${key}`,
    `X-API-Key: ${key}`,
    `x-api-key: hidden-word`,
    `X-Request-Secret: hidden-word`,
    JSON.stringify({ sha256: 'hidden-word', at: 1 }),
    JSON.stringify({ message: JSON.stringify({ api_key: 'hidden-word' }) }),
    JSON.stringify({ request_secret: 'hidden-word' }),
    `before ${pem} after`,
    `cut off ${pem.slice(0, 60)}`,
    'https://somebody:hidden-word@bench.lab/',
  ]
  for (const text of texts) t.notMatch(withoutSecrets(text), /Ab-_|hidden-word|MHcCAQ/, text.slice(0, 40))
  t.match(withoutSecrets(`key ${key}`), /bk_a1b2c3d4_/, 'which key it was can be told')
  for (const text of ['shaker-1: connected', 'http://bench.lab:8520/api', '{"hash":"0a1b"}']) t.equal(withoutSecrets(text), text)
  t.end()
})

test('a configuration loses its comments, and what its names call a secret', (t) => {
  const text = `{ "format": 1, // the password is hidden-word
    "listen": { "tls": { "cert": "/etc/benchd/tls/cert.pem", "key": "/hidden-word" } },
    "devices": [ { "device_id": "a", "settings": { "Password": "hidden-word", "api_token": 7, "speed": 5 } } ] }`
  const clean = configWithoutSecrets(text, 'it')
  t.notMatch(clean, /hidden-word|7/)
  t.match(JSON.parse(clean), {
    listen: { tls: { cert: '/etc/benchd/tls/cert.pem' } },
    devices: [{ device_id: 'a', settings: { speed: 5 } }],
  })
  const reader = (...command: string[]) => ({ device_id: 'reader-1', driver: 'bridge', transport: { kind: 'bridge', command } })
  const bridges = JSON.stringify({ format: 1, devices: [reader('python3', 'reader.py', '--pin', 'hidden-word'), reader('reader')] })
  const commands = JSON.parse(configWithoutSecrets(bridges, 'it')) as { devices: { transport: { command: string[] } }[] }
  t.same(
    commands.devices.map(({ transport }) => transport.command),
    [['python3', '(taken out)'], ['reader']],
  )
  const plugins = '{"plugins": {"lamp": {"scope": "read", "settings": {"http": {"red": "http://u:p@lamp/red"}}}, "csv": {}, "odd": null}}'
  const settings = configWithoutSecrets(plugins, 'it')
  t.notMatch(settings, /u:p/)
  t.match(JSON.parse(settings), { plugins: { lamp: { scope: 'read', settings: { http: String } }, csv: {} } })
  t.throws(() => configWithoutSecrets('{', 'it'), { code: 'invalid' })
  t.end()
})

test('the page at the front names what is in it, and what is not, and why', (t) => {
  const pieces = [{ name: 'health.json', what: 'GET /health', text: 'äb' }]
  const text = contentsOf({ pieces, missing: [{ name: 'journal.txt', why: 'there is no journal' }] }, new Date('2026-11-20T17:00:00Z'))
  t.match(text, /2026-11-20T17:00:00/)
  t.match(text, /health\.json +GET \/health, 3 bytes/)
  t.match(text, /Left out:\njournal\.txt +there is no journal/)
  t.end()
})
