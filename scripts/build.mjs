// Builds dist/: the compiled sources, beside them the files that they read, and dist/bundle/, which is what runs on a bench.
import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, readdirSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'

const top = new URL('..', import.meta.url)
process.chdir(top.pathname)
if (process.argv.includes('--clean')) rmSync('dist', { recursive: true, force: true })
execFileSync(process.execPath, [createRequire(import.meta.url).resolve('typescript/bin/tsc')], { stdio: 'inherit' })
// What was compiled from a file that is gone would still be run.
for (const path of readdirSync('dist', { recursive: true }).filter((path) => !path.startsWith('bundle'))) {
  const source = path.replace(/\.js(\.map)?$/, '.ts')
  if (source !== path && !existsSync(source)) rmSync(`dist/${path}`)
}
for (const folder of ['src', 'drivers']) {
  cpSync(folder, `dist/${folder}`, { recursive: true, filter: (path) => !/\.(ts|md)$/.test(path) })
}
execFileSync(process.execPath, ['scripts/bundle.mjs'], { stdio: 'inherit' })
