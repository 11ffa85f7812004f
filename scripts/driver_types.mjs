// Writes dist/types/: the declarations of the modules `benchd/driver` and `benchd/driver-test`, with all that they name, for the editors of people who write drivers.
//
//   scripts/driver_types.mjs
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const ts = createRequire(import.meta.url)('typescript')
const top = fileURLToPath(new URL('..', import.meta.url))
const out = join(top, 'dist/types')
const roots = ['drivers/author.ts', 'src/conformance/author.ts'].map((path) => join(top, path))
/** Types of packages that the declarations name; the rest is Node's. */
const packages = { valibot: 'node_modules/valibot/dist/index.d.mts' }

if (isStale()) {
  rmSync(out, { recursive: true, force: true })
  emit()
  inline()
}

/** Whether a source is newer than what was made from it. */
function isStale() {
  const made = join(out, 'drivers/author.d.ts')
  if (!existsSync(made)) return true
  const { mtimeMs } = statSync(made)
  const sources = ['src/devices', 'src/kit', 'src/conformance', 'src/events', 'drivers'].flatMap((folder) =>
    readdirSync(join(top, folder), { recursive: true }).map((path) => join(top, folder, path)),
  )
  return sources.some((path) => path.endsWith('.ts') && statSync(path).mtimeMs > mtimeMs)
}

function emit() {
  const { config } = ts.readConfigFile(join(top, 'tsconfig.json'), ts.sys.readFile)
  const { options } = ts.convertCompilerOptionsFromJson(config.compilerOptions, top)
  const emitting = {
    declaration: true,
    emitDeclarationOnly: true,
    incremental: false,
    tsBuildInfoFile: undefined,
    sourceMap: false,
    outDir: out,
    noCheck: true,
  }
  ts.createProgram(roots, { ...options, ...emitting }).emit()
}

/** Keeps what the roots name, puts the types of packages beside it, and names them by their paths. */
function inline() {
  const needed = new Set()
  for (const root of roots) need(join(out, relative(top, root).replace(/\.ts$/, '.d.ts')), needed)
  for (const path of readdirSync(out, { recursive: true }).map((name) => join(out, name)))
    if (path.endsWith('.d.ts') && !needed.has(path)) rmSync(path)
  for (const [name, file] of Object.entries(packages)) {
    mkdirSync(join(out, 'packages'), { recursive: true })
    const text = readFileSync(join(top, file), 'utf8').replace(/\/\*\*[\s\S]*?\*\/\s*/g, '')
    writeFileSync(join(out, `packages/${name}.d.ts`), `// ${name}, whose licence is in dist/bundle/licences.txt\n${text}`)
  }
}

function need(path, needed) {
  if (needed.has(path) || !existsSync(path)) return
  needed.add(path)
  const text = readFileSync(path, 'utf8').replace(/\n\/\/# sourceMappingURL.*/, '')
  const changed = text.replace(/(from |import\()(['"])([^'"]+)\2/g, (whole, before, quote, to) => {
    if (packages[to]) return `${before}${quote}./${relative(dirname(path), join(out, `packages/${to}.js`))}${quote}`
    if (to.startsWith('.')) need(join(dirname(path), to.replace(/\.(js|ts)$/, '.d.ts')), needed)
    return whole.replace(/\.ts(['"])$/, '.js$1')
  })
  writeFileSync(path, changed)
}
