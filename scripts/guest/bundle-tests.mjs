// Puts each test of scripts/guest/tests, as it was built, into few files with all modules that it imports but packages: a slow guest needs longer
// to find a hundred modules than to read them. What the modules find beside themselves they find where they were.
//
//   scripts/guest/bundle-tests.mjs DIST     into DIST/scripts/guest/bundled/
import { readdirSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { rolldown } from 'rolldown'

const dist = resolve(process.argv[2])
const tests = join(dist, 'scripts/guest/tests')
const dir = join(dist, 'scripts/guest/bundled')
const bundle = await rolldown({
  input: Object.fromEntries(
    readdirSync(tests)
      .filter((name) => name.endsWith('.js'))
      .map((name) => [name.slice(0, -3), join(tests, name)]),
  ),
  platform: 'node',
  external: (id) => /^[^./]/.test(id),
  logLevel: 'warn',
  treeshake: false,
  checks: { ineffectiveDynamicImport: false },
  plugins: [
    {
      name: 'benchd',
      transform: (code, id) => code.replaceAll('import.meta.url', `new URL(${JSON.stringify(relative(dir, id))}, import.meta.url).href`),
    },
  ],
})
await bundle.write({ dir, format: 'es', minify: false })
