// A bench runs the bundle. Tests that start a service or a command as a process start the bundle, for every command in
// cli/every_command.long.test.ts; all other tests run on the modules that it is made of.

import { cpSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Test, test } from 'tap'
import { noTypeScript } from './kit/modules.test.typescript.ts'
import { running } from './testing/cli.ts'

const folder = fileURLToPath(new URL('../bundle/', import.meta.url))

const stepInCode = `
  import { workflow } from 'benchd/workflow'
  export default workflow({
    format: 1, name: 'waits', topology: 'demo', labware: { plate: { type: '96-well', kind: 'plate' } },
    methods: { wait: [{ do: 'shake', on: 'shaker-1', labware: ['plate'], with: { speed: 300, duration: 1 } }] },
    threads: { plate: { labware: 'plate', start: { at: 'pad_1', mode: 'MANUAL_PLACE' }, end: { at: ['pad_1'], mode: 'MANUAL_REMOVE' }, steps: [{ method: 'wait' }] } },
    start: ['plate'] })`

test('the bundle serves devices, pages, workflows and those written in TypeScript', { skip: noTypeScript }, async (t) => {
  const home = t.testdir({ topologies: { 'waits.ts': stepInCode } })
  const service = running(t, home, ['demo', '--port', '0', '--data-dir', `${home}/data`, '--topologies', `${home}/topologies`])
  const url = await service.line(/^ +API +(http:\/\/[\d.]+:\d+)/)
  const key = await service.line(/^ +key +(bk_\S+)/)
  service.child.stdout.resume()
  const ask = async (path: string, method = 'GET') => fetch(url + path, { method, headers: { 'X-API-Key': key } })

  t.equal((await ask('/api/devices/shaker-1/initialize', 'POST')).status, 200)
  for (const page of ['/', '/page.js', '/docs', '/openapi.json']) t.equal((await ask(page)).status, 200, page)
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { version: string }
  t.match(await (await ask('/api/system')).json(), { version })
  const { workflows, faults } = (await (await ask('/api/workflows')).json()) as { workflows: { name: string }[]; faults: object[] }
  t.same(faults, [])
  t.ok(workflows.some(({ name }) => name === 'waits'))
  service.child.kill('SIGTERM')
  t.match(await service.ended, { code: 0, stderr: '' })
})

test('the service has a file of its own, and each driver another', (t) => {
  const drivers = readdirSync(folder).filter((name) => /^driver\d*\.js$/.test(name))
  t.ok(drivers.length >= 14, `${drivers.length} files of drivers`)
  const service = readFileSync(`${folder}service.js`, 'latin1')
  t.ok(
    [...service].every((letter) => letter <= '~'),
    'in letters of one byte',
  )
  t.notOk(/\b(class|var) (Execution|Runtime)\b/.test(service), 'without the workflows')
  t.end()
})

test('a bench without a fleet loads nothing of it', async (t) => {
  const [home, cache] = [t.testdir({ cache: {} }), `${t.testdirName}/cache`]
  const service = running(t, home, ['demo', '--port', '0', '--data-dir', `${home}/data`], { CACHE_DIRECTORY: cache })
  await service.line(/^ +API +(http:)/)
  service.child.stdout.resume()
  service.child.kill('SIGTERM')
  t.match(await service.ended, { code: 0, stderr: '' })
  const loaded = readdirSync(join(cache, readdirSync(cache)[0]!)).map((name) => `${name.split('.')[0]}.js`)
  const isOfBroker = (name: string) => /nats-core|class Outbox/.test(readFileSync(`${folder}${name}`, 'latin1'))
  t.ok(loaded.includes('service.js'))
  t.same(loaded.filter(isOfBroker), [])
  t.ok(readdirSync(folder).some((name) => name.endsWith('.js') && isOfBroker(name)))
})

test('what V8 made of it is kept in $CACHE_DIRECTORY, and is what runs the next time', async (t) => {
  const { before, kept, says } = await cached(t)
  t.ok(before.length > 0)
  for (const path of before) t.equal(statSync(path).mode & 0o077, 0, path)
  // Its name says that what is in it is the same, and the length is: that it is read shows who ran.
  t.match(await says(), /THERE IS NO COMMAND nonsense/)
  t.same(kept(), before)
})

test('what was kept and is damaged is compiled again, and what another version kept goes', async (t) => {
  for (const damaged of [damage.zeros, damage.torn, damage.empty]) {
    const { before, kept, says, cache } = await cached(t)
    for (const path of before) writeFileSync(path, damaged(readFileSync(path)))
    cpSync(join(cache, readdirSync(cache)[0]!), join(cache, '0123456789abcdef'), { recursive: true })
    t.match(await says(), /there is no command nonsense/)
    t.same(kept(), before)
    // Whole files are not shown as a difference: that would take seconds.
    for (const path of before) t.notOk(readFileSync(path).equals(damaged(readFileSync(path))))
  }
})

test('the overview of the commands loads none of them, and the version no more', async (t) => {
  // Where rolldown puts its helpers, a file of their own or that of the first words, is its choice.
  for (const line of ['help', 'version'])
    t.same(
      (await loadedBy(t, line)).filter((name) => name !== 'rolldown-runtime'),
      ['benchd'],
      line,
    )
})

test('a command is loaded without the service that it asks', async (t) => {
  for (const line of ['devices --help', 'key list --help', 'runs --help', 'man'])
    t.notOk((await loadedBy(t, line)).includes('service'), line)
})

/** The files of the bundle that a command line loads. */
async function loadedBy(t: Test, line: string): Promise<string[]> {
  const cache = t.testdir({})
  const { child, ended } = running(t, cache, line.split(' '), { CACHE_DIRECTORY: cache })
  child.stdout.resume()
  t.match(await ended, { code: 0, stderr: '' })
  return readdirSync(join(cache, readdirSync(cache)[0]!))
    .map((name) => name.split('.')[0]!)
    .sort()
}

test('what was changed since, by as little as a letter, is compiled again', async (t) => {
  const { bundle, says } = await cached(t)
  utimesSync(`${bundle}/benchd.js`, 1e9, 1e9 + 1)
  t.match(await says(), /there is no command nonsense/)
})

test('where nothing can be kept everything runs, and nothing is said of it', async (t) => {
  const home = t.testdir({ file: '' })
  const { ended } = running(t, home, ['version'], { CACHE_DIRECTORY: `${home}/file` })
  t.match(await ended, { code: 0, stderr: '' })
})

const damage = {
  zeros: (bytes: Buffer) => Buffer.from(bytes).fill(0, bytes.length / 2),
  torn: (bytes: Buffer) => bytes.subarray(0, bytes.length / 2),
  empty: () => Buffer.alloc(0),
}

/** The folder as a bundle has left it that says one sentence in capitals; `kept` are the files there, and `says` is what the true one says. */
async function cached(t: Test) {
  const home = t.testdir({ cache: {}, loud: {}, bundle: {} })
  const cache = `${home}/cache`
  const copied = (name: string) => {
    const to = join(home, name)
    cpSync(folder, to, { recursive: true })
    for (const file of readdirSync(to)) utimesSync(join(to, file), 1e9, 1e9)
    return to
  }
  const [loud, bundle] = [copied('loud'), copied('bundle')]
  writeFileSync(`${loud}/benchd.js`, readFileSync(`${loud}/benchd.js`, 'latin1').replace('there is no command', 'THERE IS NO COMMAND'))
  utimesSync(`${loud}/benchd.js`, 1e9, 1e9)
  const said = async (from: string) => (await running(t, home, ['nonsense'], { CACHE_DIRECTORY: cache }, `${from}/main.js`).ended).stderr
  t.match(await said(loud), /THERE IS NO COMMAND nonsense/)
  const kept = () => readdirSync(cache).flatMap((build) => readdirSync(join(cache, build)).map((name) => join(cache, build, name)))
  return { cache, bundle, before: kept(), kept, says: () => said(bundle) }
}
