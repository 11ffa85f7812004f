// The scenarios' common part: a whole bench on simulated devices, from `dist/` (or the folder that $BENCHD_DIST names), that is asked through its API.
import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { load } from './shared.mjs'

const { openBench } = await load('src/bench/bench.js')
const { checkConfig } = await load('src/config.js')
const { app } = await load('src/http/app.js')

/** Makes the functions that open a bench with these devices. `more` returns what a scenario wants of it besides `close`. */
export function benchOf(devices, more) {
  const opened = async (directory) => {
    const config = await checkConfig({ format: 1, listen: { host: '127.0.0.1', port: 0 }, devices, time_scale: 200 }, 'the bench')
    const log = { info() {}, warn() {}, error() {} }
    const folders = { data_dir: `${directory}/state`, topologies: `${directory}/topologies` }
    mkdirSync(folders.data_dir, { recursive: true, mode: 0o700 })
    const bench = await openBench(config, { ...folders, log })
    await bench.openRuns()
    const hono = app(bench)
    const { api_key } = await bench.keys.create({ name: 'person', scope: 'admin' })
    const ask = async (method, path, json) => {
      const headers = { Host: 'localhost', 'X-API-Key': api_key, 'Content-Type': 'application/json' }
      const reply = await hono.request(path, { method, headers, ...(json && { body: JSON.stringify(json) }) })
      return { status: reply.status, body: await reply.json() }
    }
    const granted = async (method, path, json) => {
      const { status, body } = await ask(method, path, json)
      assert.ok(status <= 202, `${method} ${path}: ${status} ${JSON.stringify(body)}`)
      return body
    }
    return { ...more({ ask, granted, bench }), close: () => bench.close() }
  }
  const withBench = async (directory, use) => {
    const bench = await opened(directory)
    try {
      return await use(bench)
    } finally {
      await bench.close()
    }
  }
  return { opened, withBench }
}
