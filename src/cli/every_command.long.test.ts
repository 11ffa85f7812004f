// Every command of `benchd help`, once or more, on one bench that all scenes share: what it prints, and the code it ends with. The
// first with each code is a process, and so is one that goes on until it is interrupted.

import { writeFileSync } from 'node:fs'
import { constants } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Test, test } from 'tap'
import { benchd, fakeProgram, running, spawned, spawnedDemo } from '../testing/cli.ts'
import { type Awaited, type Called, type Ongoing, type Scene, scenes } from '../testing/cli_scenes.ts'
import { table } from './commands.ts'
import { exitCodes } from './exit.ts'

const journal = JSON.stringify({ MESSAGE: 'started', PRIORITY: '6', __REALTIME_TIMESTAMP: '1795196939121000' })
const heard = '=;eth0;IPv4;lab-pi-1;_benchd._tcp;local;lab-pi-1.local;192.168.4.21;8520;"tls=0"'

const there = { start: { at: 'pad_1', mode: 'REUSE_EXISTING' }, end: { at: ['pad_1'], mode: 'LEAVE_IN_PLACE' } }
const patient = {
  format: 1,
  name: 'patient',
  topology: 'demo',
  labware: { plate: { type: '96-well' }, lid: { type: 'lid' } },
  methods: { ask: [{ instruct: 'look at the plate' }], note: [{ emit: 'noted' }] },
  threads: {
    plate: { labware: 'plate', ...there, steps: [{ wait_for: 'go' }, { method: 'note' }, { method: 'ask' }] },
    lid: { labware: 'lid', start: { at: 'pad_3', mode: 'REUSE_EXISTING' }, end: { at: ['pad_3'], mode: 'LEAVE_IN_PLACE' }, steps: [] },
  },
  start: ['plate'],
}
const byHand = { start: { at: 'pad_1', mode: 'MANUAL_PLACE' }, end: { at: ['pad_1'], mode: 'MANUAL_REMOVE' } }
const workflows = {
  patient,
  'by-hand': { ...patient, name: 'by-hand', threads: { plate: { labware: 'plate', ...byHand, steps: [{ method: 'note' }] } } },
  opens: {
    ...patient,
    name: 'opens',
    methods: { open_it: [{ do: 'open', on: 'sealer-1', labware: ['plate'] }] },
    threads: { plate: { labware: 'plate', ...there, steps: [{ method: 'open_it' }] } },
  },
}

const all = scenes.flatMap(withMeanwhile)

/** Commands that ask a person, speak a protocol, or want a folder with code, each with the test that runs it. */
const elsewhere: Readonly<Record<string, string>> = {
  'devices certify': 'src/cli/devices/certify.long.test.ts',
  mcp: 'src/mcp/mcp.test.ts',
  'drivers list': 'src/cli/drivers.test.ts',
  'drivers new': 'src/cli/drivers.test.ts',
  'drivers test': 'src/cli/drivers.test.ts',
  'drivers verify': 'src/cli/devices/certify.long.test.ts',
}

test('every command of the table has a scene, and so has every exit code', async (t) => {
  const commands = (await table()).flatMap((section) => section.commands)
  const called = new Set(all.map(({ line }) => nameIn(line, commands)))
  t.same(
    commands.map(({ name }) => name).filter((name) => !called.has(name) && !(name in elsewhere)),
    [],
    'commands without a scene',
  )
  const seen = new Set(all.map(({ code }) => code))
  t.same(
    Object.values(exitCodes).filter(([code]) => !seen.has(code)),
    [],
    'exit codes without a scene',
  )
})

test('every scene goes as it is written', async (t) => {
  const bench = await spawnedDemo(t, { scale: 300 })
  const { home, url } = bench
  writeFileSync(`${home}/config.json`, JSON.stringify({ format: 1, devices: [{ device_id: 'arm-1', driver: 'external' }] }))
  for (const [name, workflow] of Object.entries(workflows)) writeFileSync(`${home}/${name}.json`, JSON.stringify(workflow))
  fakeProgram(`${home}/bin`, 'journalctl', `echo '${journal}'`)
  const PATH = fakeProgram(`${home}/bin`, 'avahi-browse', `echo '${heard}'`)
  const stage: Stage = {
    ...{
      t,
      bench,
      known: new Map([
        ['home', home],
        ['url', url],
      ]),
    },
    codes: new Set(),
    env: { PATH, BENCHD_DATA_DIR: `${home}/data`, BENCHD_CONFIG: `${home}/config.json` },
  }
  for (const scene of scenes) await play(scene, stage)
})

/** `codes`: those that a process has ended with. */
type Stage = { t: Test; bench: Demo; known: Map<string, string>; env: Record<string, string>; codes: Set<number> }
type Demo = ReturnType<typeof spawnedDemo> extends Promise<infer Bench> ? Bench : never

async function play(scene: Scene, stage: Stage): Promise<void> {
  if ('until' in scene) return awaited(scene, stage)
  return 'interrupted' in scene ? ongoing(scene, stage) : once(scene, stage)
}

async function once({ line, code, out = /^$/, err = /(?:)/ }: Called, { t, bench, known, env, codes }: Stage): Promise<void> {
  const call = codes.has(code) ? benchd : spawned
  codes.add(code)
  const ended = await call(bench.home, wordsOf(line, known), env)
  const [stdout, stderr] = [filledPattern(out, known), filledPattern(err, known)]
  t.match(ended, { code, stdout, stderr }, line)
  learn(stdout.exec(ended.stdout), known)
}

async function ongoing({ line, code, out, meanwhile = [], interrupted }: Ongoing, stage: Stage): Promise<void> {
  const { t, bench, known, env } = stage
  const command = running(t, bench.home, wordsOf(line, known), env)
  for (const scene of meanwhile) await play(scene, stage)
  await command.line(filledPattern(out, known))
  command.child.stdout.resume()
  if (interrupted) command.child.kill('SIGINT')
  const ended = await command.ended
  t.equal(ended.code ?? 128 + constants.signals[ended.signal as 'SIGINT'], code, line)
}

async function awaited({ path, until }: Awaited, { bench, known }: Stage): Promise<void> {
  let found: RegExpExecArray | null = null
  while (!found) {
    const shown = await fetch(bench.url + filled(path, known), { headers: { 'X-API-Key': bench.key } })
    found = until.exec(await shown.text())
    if (!found) await sleep(20)
  }
  learn(found, known)
}

function learn(found: RegExpExecArray | null, known: Map<string, string>): void {
  for (const [name, value] of Object.entries(found?.groups ?? {})) known.set(name, value)
}

function filled(text: string, known: ReadonlyMap<string, string>): string {
  return text.replace(/\$([a-z]+)/g, (_, name) => {
    const value = known.get(name)
    if (value === undefined) throw new Error(`no scene before this one has found $${name}`)
    return value
  })
}

function filledPattern({ source, flags }: RegExp, known: ReadonlyMap<string, string>): RegExp {
  return new RegExp(filled(source, known), flags)
}

function wordsOf(line: string, known: ReadonlyMap<string, string>): string[] {
  return [...filled(line, known).matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare!)
}

/** Of the command whose words the line begins with. */
function nameIn(line: string, commands: readonly { name: string; aliases?: readonly string[] }[]): string | undefined {
  const [first, second] = line.split(' ')
  const called = (words: string) => commands.find(({ name, aliases }) => name === words || aliases?.includes(words))?.name
  return called(`${first} ${second}`) ?? called(first!)
}

function withMeanwhile(scene: Scene): Called[] {
  if ('until' in scene) return []
  return [scene, ...('meanwhile' in scene ? (scene.meanwhile ?? []).flatMap(withMeanwhile) : [])]
}
