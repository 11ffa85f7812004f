// Generates clients from src/http/openapi.json, compiles them under strict TypeScript, and runs them against the demo.
// `node dist/scripts/contract/clients.js FOLDER`, where FOLDER is the prefix that npm installed the generators into. Prints
// `N passed, N failed`.

import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cp, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const top = fileURLToPath(new URL('../../..', import.meta.url))
const document = `${top}src/http/openapi.json`
const [folder = ''] = process.argv.slice(2)
// Inside the folder, so that the code finds the packages there.
const work = `${folder}/clients`
const bin = `${folder}/node_modules/.bin`

/** Strict, and of the generated code too: `skipLibCheck` is left out. */
const compilerOptions = {
  ...{ strict: true, noUncheckedIndexedAccess: true, noImplicitOverride: true, noFallthroughCasesInSwitch: true },
  ...{ target: 'es2022', module: 'nodenext', lib: ['es2023', 'dom', 'dom.iterable'], types: ['node'] },
  ...{ allowImportingTsExtensions: true, rewriteRelativeImportExtensions: true },
  ...{ typeRoots: [`${top}node_modules/@types`], rootDir: '.', outDir: 'out' },
}

let passed = 0
let failed = 0

await cp(`${top}scripts/contract/clients`, work, { recursive: true })
await writeFile(`${work}/package.json`, '{ "type": "module" }')
await writeFile(`${work}/tsconfig.json`, JSON.stringify({ compilerOptions, include: ['*.ts'] }))

// A member that has a default may be left out of a request.
const paths = [document, '--output', 'generated/paths.ts', '--default-non-nullable=false']
const isGenerated =
  succeeds('openapi-typescript generates', `${bin}/openapi-typescript`, paths) &&
  succeeds('@hey-api/openapi-ts generates', `${bin}/openapi-ts`, ['--file', 'openapi-ts.config.mjs', '--no-log-file'])
const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc')
if (isGenerated && succeeds('the clients compile', process.execPath, [tsc, '--project', '.'])) {
  for (const client of ['fetch', 'hey']) await onDemo(client)
}
console.log(`${passed} passed, ${failed} failed`)
process.exitCode = failed ? 1 : 0

/** Runs a program in the work folder, and counts whether it succeeded. */
function succeeds(name: string, program: string, words: readonly string[]): boolean {
  const env = { ...process.env, BENCHD_DOCUMENT: document }
  const { status, stdout, stderr } = spawnSync(program, words, { cwd: work, encoding: 'utf8', env })
  if (status === 0) passed += 1
  else failed += 1
  console.log(status === 0 ? `ok - ${name}` : `NOT OK - ${name}\n${stdout}${stderr}`)
  return status === 0
}

/** Starts a demo of its own, runs the compiled client, and adds up its checks. */
async function onDemo(client: string): Promise<void> {
  const demo = spawn(process.execPath, [`${top}dist/bundle/main.js`, 'demo', '--port', '0'], { stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(demo, 'exit')
  try {
    const { url, key } = await toldBy(createInterface(demo.stdout))
    demo.stdout.resume()
    const env = { ...process.env, BENCHD_URL: url, BENCHD_API_KEY: key }
    const { stdout, stderr } = spawnSync(process.execPath, [`out/${client}.js`], { cwd: work, env, encoding: 'utf8' })
    const [line, its_passed, its_failed] = /^(\d+) passed, (\d+) failed$/m.exec(stdout) ?? []
    passed += Number(its_passed ?? 0)
    failed += Number(its_failed ?? 1)
    console.log(`${client}:\n${line ? stdout.replace(`${line}\n`, '') : `NOT OK - it said no count\n${stdout}${stderr}`}`)
  } finally {
    demo.kill('SIGTERM')
    await ended
  }
}

/** The address and the key in the demo's welcome. Rejects when the demo ends before it tells both. */
async function toldBy(lines: AsyncIterable<string>): Promise<{ url: string; key: string }> {
  let url: string | undefined
  for await (const line of lines) {
    url ??= /^ +API +(http:\/\/[\d.]+:\d+)/.exec(line)?.[1]
    const key = /^ +key +(bk_\S+)/.exec(line)?.[1]
    if (url && key) return { url, key }
  }
  throw new Error('the demo ended before it told its address and key')
}
