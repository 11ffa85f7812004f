import { chmodSync, mkdirSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Test, test } from 'tap'
import * as v from 'valibot'
import { PluginConfig } from '../config/plugins.ts'
import type { RuntimeEvent } from '../events/event.ts'
import { runtimeEvent } from '../events/event.ts'
import type { AnySink, Sink } from '../events/sinks.ts'
import { type Clock, systemClock, VirtualClock } from '../kit/clock.ts'
import { linesOf, pluginCode, pluginEntries, type TestPlugin, writesEvents } from '../testing/plugins.ts'
import { checkPlugin } from './check.ts'
import { placeOf } from './place.ts'
import type { PluginHub } from './plugin_runner.ts'
import { Plugins } from './plugins.ts'
import type { PluginStatus } from './status.ts'

type Made = { pauses_ms?: number[]; isSafe?: () => boolean; clock?: Clock }

/** Opens plug-ins without a bench, and closes them at the end of the test. */
function pluginsFor(t: Test, { pauses_ms = [10, 10], isSafe = () => false, clock = systemClock }: Made = {}) {
  const sinks = new Set<AnySink>()
  const [logged, incidents]: [string[], string[]] = [[], []]
  const hub = {
    registerSink: (sink: AnySink) => void sinks.add(sink),
    unregisterSink: (sink: AnySink) => void sinks.delete(sink),
    getEventsSince: async () => [],
    getEventsForExecution: async () => [],
    incident: (_category: string, message: string) => void incidents.push(message),
    brokenSink: (name: string) => void incidents.push(name),
  } as unknown as PluginHub
  const say = (message: string) => void logged.push(message)
  const plugins = new Plugins({
    ...{ hub, clock, log: { info: say, warn: say, error: say }, call: async () => ({ status: 200, body: null }) },
    ...{ data_dir: mkdtempSync(join(tmpdir(), 'data-')), config_path: undefined, system_id: 'bench', isSafeMode: isSafe, pauses_ms },
  })
  t.teardown(() => plugins.close())
  const until = async (name: string, isSo: (status: PluginStatus) => boolean) => {
    for (;;) {
      const found = (await plugins.list()).find((one) => one.name === name)
      if (found && isSo(found)) return found
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
  }
  const emit = (name: string): RuntimeEvent => {
    const event = runtimeEvent(name, 'bench', 1, {})
    for (const sink of sinks) (sink as Sink).onEvent(event)
    return event
  }
  return { plugins, sinks, logged, incidents, until, emit }
}

function configured(plugins: Readonly<Record<string, TestPlugin>>): Record<string, PluginConfig> {
  const entries = Object.entries(pluginEntries(plugins)).map(([name, entry]) => [name, v.parse(PluginConfig, entry)] as const)
  return Object.fromEntries(entries)
}

const isIn = (state: PluginStatus['state']) => (status: PluginStatus) => status.state === state
const fileOf = ({ settings }: PluginConfig) => settings['file'] as string

test('a reload starts, ends and restarts only what has changed', async (t) => {
  const { plugins, until, sinks } = pluginsFor(t)
  const configs = configured({
    kept: { code: writesEvents },
    changed: { code: writesEvents },
    gone: { code: writesEvents, in_process: true },
    added: { code: writesEvents, in_process: true },
  })
  const { added, ...first } = configs
  await plugins.apply(first)
  for (const name of ['kept', 'changed', 'gone']) await until(name, isIn('running'))
  const changed = { ...configs.changed!, scope: 'operate' as const }
  await plugins.apply({ kept: configs.kept!, changed, added: added! })
  for (const name of ['kept', 'changed', 'added']) await until(name, isIn('running'))
  t.same(
    (await plugins.list()).map(({ name, scope }) => [name, scope]),
    [
      ['added', 'read'],
      ['changed', 'operate'],
      ['kept', 'read'],
    ],
  )
  t.same(linesOf(fileOf(configs.kept!)), [])
  t.same(linesOf(fileOf(configs.changed!)), ['stopped'])
  t.same(linesOf(fileOf(configs.gone!)), ['stopped'])
  await plugins.apply({})
  t.same(await plugins.list(), [])
  t.same(linesOf(fileOf(configs.kept!)), ['stopped'])
  t.equal(sinks.size, 0)
})

test('a plug-in that ends again and again is given up with an incident, and a restart takes its file as it is then', async (t) => {
  const { plugins, until, incidents, logged, sinks } = pluginsFor(t)
  const configs = configured({ lamp: { code: pluginCode('process.exit(4)') } })
  await plugins.apply(configs)
  const { last_error, restarts } = await until('lamp', isIn('failed'))
  t.match(last_error, /ended with exit status 4, 3 times/)
  t.equal(restarts, 2)
  t.match(incidents, [/^the plug-in lamp is given up: .* exit status 4, 3 times; see .* benchd plugins restart lamp/])
  t.equal(logged.filter((line) => /^the plug-in lamp has ended: .*; it is started again in 0\.01 s$/.test(line)).length, 2)
  t.equal(sinks.size, 0)
  writeFileSync(configs.lamp!.module!, writesEvents)
  await plugins.restart('lamp')
  t.match(await until('lamp', isIn('running')), { restarts: 0, last_error: null })
  await t.rejects(plugins.restart('lmp'), { code: 'not_found', message: /did you mean "lamp"/ })
})

test('events that come while a plug-in is started again are delivered after that', async (t) => {
  const clock = new VirtualClock()
  const { plugins, until, emit } = pluginsFor(t, { clock })
  const code = writesEvents.replace(
    'write(event_name)',
    `{ write(event_name); if (event_name === 'A.B') setImmediate(() => process.exit(1)) }`,
  )
  const configs = configured({ lamp: { code } })
  await plugins.apply(configs)
  await until('lamp', isIn('running'))
  emit('A.B')
  await until('lamp', isIn('waiting'))
  for (const name of ['C.1', 'C.2', 'C.3']) emit(name)
  await clock.advance(10)
  await until('lamp', ({ state, events_waiting }) => state === 'running' && events_waiting === 0)
  t.same(
    linesOf(fileOf(configs.lamp!)).filter((line) => !line.startsWith('dropped')),
    ['A.B', 'C.1', 'C.2', 'C.3'],
  )
})

test('safe mode keeps a plug-in out of the process of the service, and lets others run', async (t) => {
  let isSafe = true
  const { plugins, until } = pluginsFor(t, { isSafe: () => isSafe })
  const configs = configured({ near: { code: writesEvents, in_process: true }, far: { code: writesEvents } })
  await plugins.apply(configs)
  await until('far', isIn('running'))
  t.match(await until('near', isIn('held')), { layer: 'in_process', title: null })
  await t.rejects(plugins.restart('near'), { code: 'safe_mode', message: /acknowledge the incident first/ })
  isSafe = false
  await plugins.apply(configs)
  await until('near', isIn('running'))
})

test('an error that a plug-in throws in the service outside of every call is its own', async (t) => {
  const { plugins, until } = pluginsFor(t)
  const code = pluginCode(`globalThis.makeFault = () => new Error('late')`)
  await plugins.apply(configured({ near: { code, in_process: true } }))
  await until('near', isIn('running'))
  const { makeFault } = globalThis as unknown as { makeFault(): Error }
  t.ok(plugins.fault(makeFault()))
  t.match(await until('near', isIn('running')), { last_error: 'late' })
  t.notOk(plugins.fault(new Error('of ours')))
})

test('the file is found by its name, by a path from the configuration, or as an npm package', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'etc-'))
  const config = join(folder, 'config.json')
  const file = (path: string, text = '') => {
    mkdirSync(join(folder, path, '..'), { recursive: true })
    writeFileSync(join(folder, path), text)
    return join(folder, path)
  }
  await t.rejects(placeOf({ name: 'lamp' }, config), { code: 'config', message: /there is no file .*plugins\/lamp\.ts nor .*lamp\.js/ })
  await t.rejects(placeOf({ name: 'lamp' }, undefined), { message: /no configuration file/ })
  const js = file('plugins/lamp.js')
  t.equal(await placeOf({ name: 'lamp' }, config), js)
  const ts = file('plugins/lamp.ts')
  t.equal(await placeOf({ name: 'lamp' }, config), ts)
  t.equal(await placeOf({ name: 'x', module: './plugins/lamp.js' }, config), js)
  t.equal(await placeOf({ name: 'x', module: js }, undefined), js)
  const install = /there is no npm package lab-lamp in .*plugins; install it: sudo npm install --ignore-scripts --prefix .*plugins lab-lamp/
  await t.rejects(placeOf({ name: 'x', module: 'lab-lamp' }, config), { message: install })
  const main = file('plugins/node_modules/lab-lamp/lib/main.js')
  const json = (content: object) => file('plugins/node_modules/lab-lamp/package.json', JSON.stringify(content))
  for (const content of [
    { main: 'lib/main.js' },
    { exports: './lib/main.js' },
    { exports: { '.': { types: './x.d.ts', import: './lib/main.js' } } },
    { exports: { import: { default: './lib/main.js' } } },
  ]) {
    json(content)
    t.equal(await placeOf({ name: 'x', module: 'lab-lamp' }, config), main)
  }
  writeFileSync(main, "import '../part.js'")
  const part = file('plugins/node_modules/lab-lamp/part.js', "export * from './open.js'")
  chmodSync(file('plugins/node_modules/lab-lamp/open.js'), 0o666)
  const open = { code: 'config', message: /no code from .*lab-lamp\/open\.js, because other users may write to it/ }
  await t.rejects(placeOf({ name: 'x', module: 'lab-lamp' }, config), open, 'a file that it imports')
  symlinkSync(part, join(folder, 'linked.js'))
  await t.rejects(placeOf({ name: 'x', module: './linked.js' }, config), open, 'a file that the target of a link imports')
  chmodSync(join(folder, 'plugins'), 0o777)
  await t.rejects(placeOf({ name: 'lamp' }, config), { code: 'config', message: /because other users may write to it/ })
})

test('a check starts and stops a file without a bench, and says what is wrong with its place', async (t) => {
  const check = async (code: string) => {
    const { lamp } = configured({ lamp: { code } })
    return checkPlugin(lamp!.module!, lamp!.settings, tmpdir())
  }
  t.match(await check(writesEvents), { title: 'of a test', sinks: 1, trouble: null })
  t.match(await check(pluginCode(`bench.log((await bench.request('GET', '/api/devices')).status)`)), { output: ['503'], trouble: null })
  t.match(await check(pluginCode('bench.none()')), { title: null, trouble: /bench\.none is not a function \(\/.*lamp\.js:\d+:\d+\)/ })
  t.match(await check('export default {'), { trouble: /lamp\.js cannot be loaded: Unexpected end of input/ })
  t.match(await check(pluginCode('process.exit(1)')), { title: null, trouble: /exit status 1/ })
})

test('programs that a plug-in has started end with its process', async (t) => {
  const { plugins, until } = pluginsFor(t)
  const code = pluginCode(`
    const { spawn } = await import('node:child_process')
    write(String(spawn('/bin/sleep', ['100'], { stdio: 'ignore' }).pid))
    process.exit(4)`)
  const configs = configured({ lamp: { code } })
  await plugins.apply(configs)
  await until('lamp', isIn('failed'))
  const pids = linesOf(fileOf(configs.lamp!)).map(Number)
  t.equal(pids.length, 3)
  const isAlive = (pid: number) => {
    try {
      // A process that nobody has waited for yet is over as well.
      return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
    } catch {
      return false
    }
  }
  while (pids.some(isAlive)) await new Promise(setImmediate)
  t.same(pids.filter(isAlive), [], 'the programs that the plug-in had started are gone')
})

test('requests that wait need one timer between them', async (t) => {
  let timers = 0
  const after: Clock['after'] = (ms, call) => {
    timers++
    return systemClock.after(ms, call)
  }
  const clock: Clock = { now: () => systemClock.now(), after }
  const { plugins, until } = pluginsFor(t, { clock })
  const code = pluginCode(`
    const all = Promise.all(Array.from({ length: 150 }, () => bench.request('GET', '/api/devices')))
    await all
    write('done')`)
  const configs = configured({ asks: { code } })
  await plugins.apply(configs)
  await until('asks', isIn('running'))
  t.same(linesOf(fileOf(configs.asks!)), ['done'])
  t.ok(timers >= 50 && timers <= 150, `${timers} timers`)
})

test('a start that takes too long is stopped when it is done, and is no matter any more after a restart', async (t) => {
  const clock: Clock = { now: () => systemClock.now(), after: (ms, call) => systemClock.after(ms / 100, call) }
  const { plugins, until, incidents, sinks } = pluginsFor(t, { clock })
  const code = pluginCode(`
    write('began')
    await new Promise((resolve) => setTimeout(resolve, 600))
    bench.registerSink({ onEvent() {} })
    return () => write('stopped')`)
  const configs = configured({ late: { code, in_process: true } })
  await plugins.apply(configs)
  const lines = async (count: number) => {
    while (linesOf(fileOf(configs.late!)).length < count) await new Promise((resolve) => setTimeout(resolve, 10))
  }
  await lines(1)
  await plugins.restart('late')
  await until('late', isIn('failed'))
  await lines(4)
  t.equal(incidents.length, 1)
  t.match(incidents, [/it took more than 30 s/])
  t.same(linesOf(fileOf(configs.late!)), ['began', 'began', 'stopped', 'stopped'])
  t.equal(sinks.size, 0)
})

test('a start that returns what is no function is refused in both layers', async (t) => {
  const { plugins, until } = pluginsFor(t, { pauses_ms: [] })
  const code = pluginCode('return 5')
  await plugins.apply(configured({ near: { code, in_process: true }, far: { code } }))
  for (const name of ['near', 'far'])
    t.match(await until(name, isIn('failed')), { last_error: /start returned a number; return the function/ })
})
