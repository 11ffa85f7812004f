// Puts what was compiled into few files, in bundle/ beside it: Node needs longer to find three hundred modules than to read them.
// What the service does not need at its start stays apart: each driver, each command, the workflows. main.js, which is
// bundle_main.cjs, runs them.
//
//   scripts/bundle.mjs [DIST]     DIST: dist/
import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'
import { writeLicences } from './licences.mjs'
import { ofCoordinator } from './of_coordinator.mjs'

const dist = resolve(process.argv[2] ?? fileURLToPath(new URL('../dist', import.meta.url)))
const dir = join(dist, 'bundle')
const { dependencies, optionalDependencies } = (await import('../package.json', { with: { type: 'json' } })).default
/** They have compiled parts, or are not always there. All other packages are put in, and are needed only to build. */
const outside = [...Object.keys({ ...dependencies, ...optionalDependencies }), ...ofCoordinator]

const someOfValibot = '\0some-of-valibot'
const noHttp2 = '\0no-http2'

const valibot = await usedOfValibot()
/** The modules that each module imports at once, and those that it imports later. */
const imports = new Map()
const laterImports = new Map()

const inEveryCommand = neededBy('src/cli/main.js', 'src/cli/help.js', 'src/cli/version.js')
const inCommands = neededBy('src/cli/commands.js', 'src/devices/operations.js')
const inClient = neededBy('src/cli/client.js')
const inService = neededBy('src/cli/serve.js', 'src/config.js', 'src/main.js')
const inSomeCommand = neededLaterBy('src/cli/commands.js')

const bundle = await rolldown({
  input: { benchd: join(dist, 'src/cli/main.js') },
  platform: 'node',
  // The main file of jsonc-parser finds its other files in a way that only Node follows.
  resolve: { mainFields: ['module', 'main'] },
  external: outside,
  logLevel: 'warn',
  // Taking out what seems to do nothing takes out calls that are there to throw: `decodeURIComponent(url)` in a try.
  treeshake: false,
  checks: { ineffectiveDynamicImport: false },
  plugins: [
    {
      name: 'benchd',
      // Nothing here speaks HTTP/2: @hono/node-server asks whether a request is one, and Node would read in all of it for that.
      resolveId: (id) => ({ 'node:http2': noHttp2, valibot: someOfValibot })[id],
      load: (id) => {
        if (id === someOfValibot) return valibot.code
        return id === noHttp2 ? 'export class Http2ServerRequest {}\nexport const constants = {}\n' : undefined
      },
      // Each module goes on to find the files that lie beside it.
      transform: (code, id) => code.replaceAll('import.meta.url', `new URL(${JSON.stringify(relative(dir, id))}, import.meta.url).href`),
      moduleParsed: ({ id, importedIds, dynamicallyImportedIds }) => {
        imports.set(id, importedIds)
        laterImports.set(id, dynamicallyImportedIds)
      },
      // With one letter that does not fit into a byte, V8 would hold the whole file in two bytes a letter.
      generateBundle(_, files) {
        for (const file of Object.values(files)) file.code = asFunction(asAscii(file.code))
      },
    },
  ],
})
const { output } = await bundle.generate({
  format: 'cjs',
  minify: false,
  comments: false,
  chunkFileNames: '[name].js',
  codeSplitting: {
    groups: [
      // In this order: modules for the first words of a command line, for most commands, for some commands and the service, for the start of the
      // service alone, for several drivers.
      { name: 'first', test: inEveryCommand },
      { name: 'shell', test: (id) => inCommands(id) || (inClient(id) && inService(id)) },
      { name: 'some', test: (id) => inSomeCommand(id) && inService(id) },
      { name: 'service', test: inService },
      { name: 'drivers', test: (id) => dirname(relative(dist, id)).startsWith('drivers'), minShareCount: 2 },
    ],
  },
})
rmSync(dir, { recursive: true, force: true })
mkdirSync(dir)
const all = createHash('sha256')
for (const { fileName, code } of output) {
  all.update(code)
  writeFileSync(join(dir, fileName), code)
}
const main = readFileSync(new URL('bundle_main.cjs', import.meta.url), 'utf8').replace('BUILD', `'${all.digest('hex').slice(0, 16)}'`)
writeFileSync(join(dir, 'main.js'), main, { mode: 0o755 })
writeFileSync(join(dir, 'package.json'), '{"type":"commonjs"}\n')
writeLicences(dir, [...output, valibot])

/** Returns a chunk with those functions of valibot that are used, a third of it. Nothing in them is there to throw alone. */
async function usedOfValibot() {
  const files = readdirSync(dist, { recursive: true }).filter((path) => /^(src|drivers)\/.*\.js$/.test(path))
  const code = files.map((path) => readFileSync(join(dist, path), 'utf8')).filter((code) => code.includes("from 'valibot'"))
  const names = new Set(code.flatMap((text) => [...text.matchAll(/\bv\.(\w+)/g)].map(([, name]) => name)))
  const used = await rolldown({
    input: someOfValibot,
    treeshake: true,
    plugins: [
      {
        name: 'some-of-valibot',
        resolveId: (id) => (id === someOfValibot ? id : undefined),
        load: (id) => (id === someOfValibot ? `export { ${[...names].join(', ')} } from 'valibot'` : undefined),
      },
    ],
  })
  const { output } = await used.generate({ format: 'esm', minify: false })
  return output[0]
}

function asAscii(code) {
  return code.replace(/[^ -~\s]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** Code that is compiled as a script cannot say `import` itself without Node's warning of an experiment. */
function asFunction(code) {
  const body = code.replace(/^#!.*/, '').replaceAll('await import(', 'await importing(')
  if (/\bimport\(/.test(body)) throw new Error('an import() without await before it is not found by bundle.mjs')
  return `(function (exports, require, module, __filename, importing) {${body}\n})\n`
}

/** Tells of a module whether one of those cannot be without it; all of them are known by then. */
function neededBy(...paths) {
  return reachedFrom(() => paths.map((path) => join(dist, path)))
}

/** The same of what a module imports later, but for the service itself. */
function neededLaterBy(path) {
  return reachedFrom(() => laterImports.get(join(dist, path)).filter((id) => id !== join(dist, 'src/cli/serve.js')))
}

function reachedFrom(roots) {
  const found = new Set()
  return (id) => {
    if (found.size === 0) for (const root of roots()) reach(root, found)
    return found.has(id)
  }
}

function reach(id, found) {
  if (!imports.has(id) || found.has(id)) return
  found.add(id)
  for (const next of imports.get(id)) reach(next, found)
}
