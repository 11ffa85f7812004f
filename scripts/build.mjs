// Builds dist/: the compiled sources, beside them the files that they read, and dist/bundle/, which is what runs on a bench.
//
//   scripts/build.mjs [--clean] [--tell]     --tell: say what is being done
import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'

const top = new URL('..', import.meta.url)
process.chdir(top.pathname)
const tell = process.argv.includes('--tell') ? (what) => console.log(`benchd: ${what}`) : () => {}
if (process.argv.includes('--clean')) rmSync('dist', { recursive: true, force: true })
// Of a file that somebody took out of dist/ tsc knows nothing.
const isAway = (path) => /(?<!\.d)\.ts$/.test(path) && !existsSync(`dist/${path.replace(/ts$/, 'js')}`)
const sources = ['src', 'drivers'].flatMap((folder) => readdirSync(folder, { recursive: true }).map((path) => `${folder}/${path}`))
if (sources.some(isAway)) rmSync('dist/.tsbuildinfo', { force: true })
tell('building. Step 1 of 3: compiling; this takes half a minute at the first time, and longer on a small computer')
execFileSync(process.execPath, [createRequire(import.meta.url).resolve('typescript/bin/tsc')], { stdio: 'inherit' })
// What was compiled from a file that is gone would still be run.
for (const path of readdirSync('dist', { recursive: true }).filter((path) => !/^(bundle|types)/.test(path))) {
  const source = path.replace(/\.js(\.map)?$/, '.ts')
  const isShipped = source === path && /^(src|drivers)\//.test(path)
  if ((source !== path || isShipped) && !existsSync(source) && !existsSync(path)) rmSync(`dist/${path}`, { recursive: true, force: true })
}
for (const folder of ['src', 'drivers']) {
  cpSync(folder, `dist/${folder}`, { recursive: true, filter: (path) => !/\.(tsx?|md)$/.test(path) && !path.startsWith('src/web') })
}
// The committed document is laid out for reviewers; clients get it without white space, which is half of its size.
for (const file of ['openapi.json', 'openapi-lab.json'])
  writeFileSync(`dist/src/http/${file}`, `${JSON.stringify(JSON.parse(readFileSync(`src/http/${file}`, 'utf8')))}\n`)
tell('step 2 of 3: the page and the documents')
execFileSync(process.execPath, ['scripts/web.mjs'], { stdio: 'inherit' })
execFileSync(process.execPath, ['scripts/guides.mjs'], { stdio: 'inherit' })
execFileSync(process.execPath, ['scripts/driver_types.mjs'], { stdio: 'inherit' })
tell('step 3 of 3: the program; then the demo starts')
execFileSync(process.execPath, ['scripts/bundle.mjs'], { stdio: 'inherit' })
