#!/usr/bin/env node
// Runs what is bundled beside it, and keeps what V8 has made of that in the folder that $CACHE_DIRECTORY names, which systemd
// sets: a third of the time until the service answers is compiling. Whoever sets it vouches for who may write there.
'use strict'

const { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } = require('node:fs')
const { join } = require('node:path')
const { Script } = require('node:vm')
const { crc32 } = require('node:zlib')

/** Names the content of all files here. */
const build = BUILD
const cache = process.env.CACHE_DIRECTORY
/** V8 takes no data that were made with other flags: those of the service are not those of a command. `node:v8` knows that too, and is slow to load. */
const setting = crc32([process.version, process.arch, process.env.NODE_OPTIONS, ...process.execArgv].join(' '))
/** When a start is over, what it needed has been compiled; what is never called, V8 forgets again. */
const settled_ms = 10_000

/** The code that ran and was not in the cache. */
const fresh = new Map()
const modules = new Map()
const headBytes = 12

if (cache) {
  setTimeout(keep, settled_ms).unref()
  process.once('exit', keep)
}
load('benchd.js')

function load(name) {
  const known = modules.get(name)
  if (known) return known.exports
  const module = { exports: {} }
  modules.set(name, module)
  const path = join(__dirname, name)
  const requires = (id) => (id.startsWith('./') ? load(id.slice(2)) : require(id))
  compiled(name, path).runInThisContext()(module.exports, requires, module, path, (id) => import(id))
  return module.exports
}

function compiled(name, filename) {
  // All of it is ASCII.
  const source = readFileSync(filename, 'latin1')
  const cachedData = cache ? kept(name) : undefined
  const script = new Script(source, { filename, cachedData })
  if (cache && (!cachedData || script.cachedDataRejected)) fresh.set(name, script)
  return script
}

/**
 * V8 checks of its data whether they are of this V8, these flags and a source of that length: not whether they are whole, with zeros in
 * them it crashes, and not whether somebody changed a letter.
 */
function kept(name) {
  try {
    const file = readFileSync(keptAs(name))
    const data = file.subarray(headBytes)
    return data.length > 0 && file.subarray(0, headBytes).equals(headOf(name, data)) ? data : undefined
  } catch {
    return undefined
  }
}

/** The checksum of the data, and when the source was changed last. */
function headOf(name, data) {
  const head = Buffer.alloc(headBytes)
  head.writeUInt32LE(crc32(data))
  head.writeDoubleLE(statSync(join(__dirname, name)).mtimeMs, 4)
  return head
}

/** Code that cannot be written is compiled again at the next start. */
function keep() {
  try {
    for (const [name, script] of fresh) {
      const data = script.createCachedData()
      mkdirSync(join(cache, build), { recursive: true, mode: 0o700 })
      writeFileSync(`${keptAs(name)}.tmp`, Buffer.concat([headOf(name, data), data]), { mode: 0o600 })
      renameSync(`${keptAs(name)}.tmp`, keptAs(name))
    }
    if (fresh.size > 0)
      for (const other of readdirSync(cache))
        if (isBuild(other) && other !== build) rmSync(join(cache, other), { recursive: true, force: true })
  } catch {}
  fresh.clear()
}

function isBuild(name) {
  return /^[0-9a-f]{16}$/.test(name)
}

function keptAs(name) {
  return join(cache, build, `${name}.${setting}`)
}
