// What npm packs is what scripts/package puts into the .deb: all that runs, and nothing that only those who build it need.

import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, lstatSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { type Test, test } from 'tap'
import { noTypeScript } from '../src/kit/modules.test.typescript.ts'
import { running } from '../src/testing/cli.ts'

const sources = fileURLToPath(new URL('../..', import.meta.url))

const inCode = `
  import { workflow } from 'benchd/workflow'
  export default workflow({ format: 1, name: 'rests', topology: 'demo', labware: { plate: { type: '96-well', kind: 'plate' } }, methods: {},
    threads: { plate: { labware: 'plate', start: { at: 'pad_1', mode: 'MANUAL_PLACE' }, end: { at: ['pad_1'], mode: 'MANUAL_REMOVE' }, steps: [] } },
    start: ['plate'] })`

let paths: string[] | undefined

/** Asks npm once, which takes seconds. */
function packed(): string[] {
  if (paths) return paths
  const said = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], { cwd: sources, encoding: 'utf8', stdio: 'pipe' })
  const [{ files }] = JSON.parse(said) as [{ files: { path: string }[] }]
  paths = files.map(({ path }) => path)
  return paths
}

/** Laid out as npm does it, with the packages that it needs beside it. */
function laidOut(t: Test, files: readonly string[]): string {
  const home = t.testdir({ benchd: {}, topologies: { 'rests.ts': inCode } })
  for (const path of files) cpSync(`${sources}${path}`, `${home}/benchd/${path}`)
  symlinkSync(`${sources}node_modules`, `${home}/benchd/node_modules`)
  return home
}

// npm 9 packs files whose names begin with readme from every folder.
test('nothing is packed that is not for those who run it', (t) => {
  const files = packed()
  t.ok(files.includes('dist/bundle/main.js'))
  t.same(
    files.filter(
      (path) =>
        !/^(dist\/web\/clients\/benchd|examples\/plugins\/\w+)\.ts$/.test(path) &&
        !/^dist\/types\/.*\.d\.ts$/.test(path) &&
        /\.map$|\.tsbuildinfo$|\.test\.|\.ts$|^node_modules/.test(path),
    ),
    [],
  )
  t.end()
})

test('npm ci --omit=dev installs at most 16 MB, and 13 without what is optional: TypeScript, and what the bundle holds already, is not among it', (t) => {
  type Lock = { packages: Record<string, { dev?: boolean; optional?: boolean }> }
  const { packages } = JSON.parse(readFileSync(`${sources}package-lock.json`, 'utf8')) as Lock
  const folders = Object.keys(packages).filter((path) => path && !packages[path]!.dev && existsSync(sources + path))
  t.ok(folders.includes('node_modules/serialport'))
  for (const name of ['typescript', 'hono', 'valibot']) t.notOk(folders.includes(`node_modules/${name}`), name)
  const megabytes = (some: readonly string[]) =>
    some
      .flatMap((folder) =>
        readdirSync(sources + folder, { recursive: true, encoding: 'utf8' }).map((path) => `${sources}${folder}/${path}`),
      )
      .reduce((sum, path) => sum + lstatSync(path).blocks * 512, 0) / 1e6
  const required = folders.filter((path) => !packages[path]!.optional)
  t.ok(megabytes(folders) <= 16, `${megabytes(folders).toFixed(1)} MB`)
  t.ok(megabytes(required) <= 13, `${megabytes(required).toFixed(1)} MB without what is optional`)
  t.ok(required.length <= 35, `${required.length} packages without what is optional`)
  t.end()
})

test('the licence of each package in a bundle goes along with it', (t) => {
  for (const [bundle, names] of [
    ['bundle', ['hono', '@hono/node-server', 'jsonc-parser', 'valibot']],
    ['web', ['preact', '@preact/signals', 'uplot']],
  ] as const) {
    const text = readFileSync(`${sources}dist/${bundle}/licences.txt`, 'utf8')
    for (const name of names) t.match(text, new RegExp(`^${name} [\\d.]+\n\n`, 'm'), name)
  }
  t.ok(packed().includes('dist/bundle/licences.txt'))
  t.end()
})

test('what is packed runs a plug-in in TypeScript in a process of its own', { skip: noTypeScript }, async (t) => {
  const home = laidOut(t, packed())
  const words = ['plugins', 'check', `${home}/benchd/examples/plugins/csv.ts`, '--settings', JSON.stringify({ folder: home, every_s: 60 })]
  const check = running(t, home, words, {}, `${home}/benchd/dist/bundle/main.js`)
  await check.line(/(csv\.ts: it starts: CSV of every value, with 0 sinks)/)
  t.match(await check.ended, { code: 0 })
})

test('what is packed begins a driver, which passes its tests', { skip: noTypeScript }, async (t) => {
  const home = laidOut(t, packed())
  const benchd = async (...words: string[]) => {
    const its = running(t, home, words, {}, `${home}/benchd/dist/bundle/main.js`)
    its.child.stdout.resume()
    return its.ended
  }
  t.match(await benchd('drivers', 'new', 'my_pump', '--type', 'pump', '--folder', `${home}/drivers`), { code: 0, stderr: '' })
  t.ok(existsSync(`${home}/drivers/my_pump/driver.test.ts`))
  t.match(await benchd('drivers', 'test', `${home}/drivers/my_pump`, '--only', 'the state is read'), { code: 0 })
})

test('what is packed serves every page with what it loads, and workflows in TypeScript', { skip: noTypeScript }, async (t) => {
  const ended: Promise<unknown>[] = []
  t.teardown(() => Promise.all(ended))
  const home = laidOut(t, packed())
  const words = ['demo', '--port', '0', '--data-dir', `${home}/data`, '--topologies', `${home}/topologies`]
  const service = running(t, home, words, {}, `${home}/benchd/dist/bundle/main.js`)
  ended.push(service.ended)
  const url = await service.line(/^ +API +(http:\/\/[\d.]+:\d+)/)
  const key = await service.line(/^ +key +(bk_\S+)/)
  service.child.stdout.resume()
  const ask = (path: string | URL) => fetch(new URL(path, url), { headers: { 'X-API-Key': key } })

  const seen = new Set<string>()
  const waiting = ['/', '/docs', '/openapi.json']
  for (let path = waiting.shift(); path !== undefined; path = waiting.shift()) {
    if (seen.has(path)) continue
    seen.add(path)
    const response = await ask(path)
    t.equal(response.status, 200, path)
    const text = path.endsWith('.json') ? '' : await response.text()
    for (const [, to = ''] of text.matchAll(/(?:src=|href=|from ?|import\()["'`]([^"'`#:]+\.(?:js|css|svg))["'`]/g))
      waiting.push(new URL(to, response.url).pathname)
  }
  t.ok(seen.size > 10, [...seen].join(' '))
  t.ok(seen.has('/more.js') && seen.has('/device.js'), 'the screens that are fetched later are among them')
  const { workflows, faults } = (await (await ask('/api/workflows')).json()) as { workflows: { name: string }[]; faults: object[] }
  t.same(faults, [])
  t.ok(workflows.some(({ name }) => name === 'rests'))
  service.child.kill('SIGTERM')
  t.match(await service.ended, { code: 0, stderr: '' })
})
