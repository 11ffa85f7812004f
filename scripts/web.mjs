// Builds what browsers get: the page of the bench with its first screen in one file, the other screens in more.js, the screen of a device with
// its charts in device.js, the deck in deck.js, the TypeScript client, as it is and as JavaScript, and the Python client.
//
//   scripts/web.mjs [DIST]     DIST: dist/
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'
import { writeLicences } from './licences.mjs'

const top = fileURLToPath(new URL('..', import.meta.url))
const dist = resolve(process.argv[2] ?? join(top, 'dist'))
const [web, clients] = [join(dist, 'web'), join(dist, 'web/clients')]
for (const folder of [web, clients, join(clients, 'recipes')]) mkdirSync(folder, { recursive: true })
// A file of an earlier build would be shipped too.
for (const name of readdirSync(web)) if (name.endsWith('.js')) rmSync(join(web, name))

/** Leaves those operations out of the client of the page that no screen names, so that the page does not grow with each route. */
const usedOperations = {
  name: 'used operations',
  transform(code, id) {
    if (!id.endsWith('/clients/ts/api.ts')) return undefined
    const folders = ['src/web', 'src/clients/ts'].map((folder) => join(top, folder))
    const files = folders.flatMap((folder) => readdirSync(folder, { recursive: true }).map((name) => join(folder, name)))
    const sources = files.filter((file) => /(?<!\.test)\.tsx?$/.test(file) && file !== id).map((file) => readFileSync(file, 'utf8'))
    const words = new Set(sources.join('\n').match(/(?<=['"`])\w+(?=['"`])/g))
    return code.replaceAll(/^ {2}(\w+): \['\w+', '[^']+'\],\n/gm, (line, name) => (words.has(name) ? line : ''))
  },
}

const page = await bundled({ input: join(top, 'src/web/main.tsx'), minify: true }, join(web, 'page.js'))
const lab = await bundled({ input: join(top, 'src/web/lab_main.tsx'), minify: true }, join(web, 'lab.js'))
const dialog = await bundled({ input: join(top, 'src/web/key_dialog.tsx'), minify: true }, join(web, 'key_dialog.js'))
writeLicences(web, [...page, ...lab, ...dialog])
for (const [from, to] of [
  ['index.html', 'index.html'],
  ['lab.html', 'lab.html'],
  ['icon.svg', 'icon.svg'],
])
  copyFileSync(join(top, 'src/web', from), join(web, to))
for (const file of ['style.css', 'page.css', 'device.css', 'run.css', 'deck.css']) {
  const style = readFileSync(join(top, 'src/web', file), 'utf8')
  writeFileSync(join(web, file), withoutSpace(style))
}

for (const file of ['benchd.py', 'benchd_pylabrobot.py', 'benchd_bridge.py', 'benchd_bridge_pylabrobot.py', 'benchd_bridge_arms.py'])
  copyFileSync(join(top, 'src/clients/python', file), join(clients, file))
for (const file of ['madsci_node.py', 'orca_driver.py', 'opentrons_protocol.py', 'node_red_flow.json'])
  copyFileSync(join(top, 'src/clients/recipes', file), join(clients, 'recipes', file))
const client = join(top, 'src/clients/ts')
await bundled({ input: join(client, 'benchd.ts'), minify: false }, join(clients, 'benchd.js'))
// In one file, so that it is fetched with one request: the types stand behind the code.
const [code, streams, api] = ['benchd.ts', 'streams.ts', 'api.ts'].map((file) => readFileSync(join(client, file), 'utf8'))
const withoutImports = `${code}\n${streams}`.replaceAll(
  /^(import [^;]*?|export (type )?(\*|\{ \w+ \})) from '\.\/(api|streams)\.ts'\n/gms,
  '',
)
if (/'\.\/\w+\.ts/.test(withoutImports))
  throw new Error('the TypeScript client imports its types in a way that scripts/web.mjs does not know')
writeFileSync(join(clients, 'benchd.ts'), `${withoutImports}\n${api}`)

/** Returns a style sheet without comments and without white space that has no meaning. */
function withoutSpace(style) {
  const short = style.replaceAll(/\/\*.*?\*\//gs, '').replaceAll(/\s+/g, ' ')
  return short
    .replaceAll(/ ?([{};,]) ?/g, '$1')
    .replaceAll(': ', ':')
    .replaceAll(';}', '}')
}

async function bundled({ minify, ...options }, file) {
  // A page that lacks a package would be a dead one.
  const onLog = (_level, { message }) => {
    throw new Error(`${message}; run npm install`)
  }
  const plugins = minify ? [usedOperations] : []
  const bundle = await rolldown({ ...options, plugins, platform: 'browser', logLevel: 'warn', onLog })
  const names = { dir: dirname(file), entryFileNames: basename(file), chunkFileNames: '[name].js' }
  const { output } = await bundle.write({ format: 'es', ...names, minify, minifyInternalExports: false, comments: !minify })
  await bundle.close()
  return output
}
