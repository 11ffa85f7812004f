// Five bridges as a user writes them, and what `benchd bridge new` writes: each passes `benchd bridge try`. A simulated instrument on a port, which goes
// on when a program ends, is the witness.

import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { copyFileSync, readdirSync, readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { type Test, test } from 'tap'
import * as v from 'valibot'
import { settings } from '../../drivers/bridge/bridge.ts'
import { TriedProgram } from '../../drivers/bridge/trial/program.ts'
import { benchd, running } from '../testing/cli.ts'
import { noPython, withPython } from '../testing/python.ts'
import { bridgeTypes } from './bridge_skeleton.ts'

const { PYLABROBOT } = process.env

const source = (path: string) => fileURLToPath(new URL(`../../../src/${path}`, import.meta.url))
const examples = source('testing/bridges/')

/** Each example with the port of its instrument, and words of its trial. */
const five: Record<string, [port: 'tcp' | 'pty', ...words: string[]]> = {
  balance: ['pty'],
  reader: ['tcp', '--with', 'read.speed=exact'],
  pump: ['tcp', '--with', 'pump.volume=0.3'],
  arm: ['tcp', '--position', 'pad_1=1,2,3,0,0,0'],
  incubator: ['tcp'],
}

/** Starts the simulated instrument. `port` are the words that name its port to a bridge, `did` what it has done so far. */
async function instrument(t: Test, kind: 'tcp' | 'pty') {
  const child: ChildProcessByStdio<Writable, Readable, null> = spawn('python3', [`${examples}instrument.py`, kind], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  const lines = createInterface({ input: child.stdout })
  const did: string[] = []
  const [first] = await new Promise<string[]>((resolve) => lines.once('line', (line) => resolve([line])))
  lines.on('line', (line) => did.push(line))
  /** Waits for the next line that says so. */
  const says = (word: string) =>
    new Promise<void>((resolve) => {
      const hear = (line: string) => {
        if (line !== word) return
        lines.off('line', hear)
        resolve()
      }
      lines.on('line', hear)
    })
  const tell = (word: 'plug' | 'unplug') => {
    const done = says(`${word}ged`)
    child.stdin.write(`${word}\n`)
    return done
  }
  return { port: kind === 'tcp' ? ['127.0.0.1', first!] : [first!], did, says, tell }
}

/** Copies an example beside the library, and returns its path. */
function exampleIn(folder: string, name: string): string {
  for (const file of [source('clients/python/benchd_bridge.py'), `${examples}${name}.py`])
    copyFileSync(file, `${folder}/${file.split('/').at(-1)}`)
  return `${folder}/${name}.py`
}

withPython('each example passes bridge try, and its instrument was stopped each time', async (t) => {
  const folder = t.testdir(Object.fromEntries(Object.keys(five).map((name) => [name, {}])))
  await Promise.all(Object.keys(five).map((name) => passes(t, name, `${folder}/${name}`)))
})

async function passes(t: Test, name: string, folder: string): Promise<void> {
  const [kind, ...words] = five[name]!
  const { port, did } = await instrument(t, kind)
  const path = exampleIn(folder, name)
  t.ok(readFileSync(path, 'utf8').split('\n').length <= 81, `${name}: at most 80 lines`)
  const { code, stdout } = await benchd(folder, ['bridge', 'try', '--yes', '--json', ...words, '--', 'python3', path, ...port])
  t.equal(code, 0, `${name}: ${stdout}`)
  const { failed, checks } = JSON.parse(stdout) as { failed: number; checks: { check: string; outcome: string }[] }
  t.equal(failed, 0, name)
  const untried = checks.filter(({ outcome }) => outcome === 'not_tried').map(({ check }) => check)
  t.same(untried, ['pulled cable'], name)
  const during = checks.filter(({ check }) => check.startsWith('halt during'))
  t.ok(during.length >= 1, name)
  // A balance moves nothing. On a busy computer an instrument may have come to its end before one of the stops.
  const stops = did.filter((line) => line === 'stops what runs').length
  t.ok(stops > 0 || name === 'balance', `${name}: ${stops} stops of what ran`)
  const begunAfterStop = did.filter((line, i) => line.startsWith('begins ') && did[i - 1]?.startsWith('stops') && line !== 'begins home')
  // The incubator finds no home, so that its operations come first.
  if (name !== 'incubator') t.same(begunAfterStop, [], `${name}: nothing begins after a halt but initialize`)
  t.match(did.at(-1), /^stops/, `${name}: its instrument is left halted`)
}

for (const name of ['reader', 'pump']) {
  withPython(`the cable of ${name}.py is pulled while it works: halt and initialize work when it is back`, async (t) => {
    const { port, did, says, tell } = await instrument(t, 'tcp')
    const command = ['python3', exampleIn(t.testdir({}), name), ...port]
    const program = new TriedProgram({ command, settings: v.parse(settings, {}), signal: new AbortController().signal })
    t.teardown(() => program.end())
    await program.describe()
    await program.start()
    await program.initialize()
    const begun = says(`begins ${name === 'reader' ? 'read' : 'pump'}`)
    const params = name === 'reader' ? { wavelength: 600, speed: 'exact' } : { volume: 10, rate: 1 }
    const work = t.rejects(program.perform(name === 'reader' ? 'read' : 'pump', params, 60))
    await begun
    await tell('unplug')
    await work
    await t.rejects(program.check(), 'check notices it')
    await t.rejects(program.halt(), 'a halt without an answer is no halt')
    t.notMatch(did.at(-1), /^stops/)
    await tell('plug')
    await program.halt()
    t.match(did.at(-1), name === 'reader' ? /^stops/ : 'stops what runs')
    await program.initialize()
    await program.check()
  })
}

withPython('the reader of the guide passes bridge try as it stands there', async (t) => {
  const guide = readFileSync(source('../drivers/README.md'), 'utf8')
  const program = /```python\n([\s\S]*?serve\(\)\n)```/.exec(guide)![1]!.replace('wait(10)', 'wait(0.1)')
  const folder = t.testdir({ 'reader.py': program })
  copyFileSync(source('clients/python/benchd_bridge.py'), `${folder}/benchd_bridge.py`)
  const { code, stdout } = await benchd(folder, ['bridge', 'try', `${folder}/reader.py`, '--yes'])
  t.equal(code, 0, stdout)
  t.match(stdout, /pass {2}halt during read .* 0 failed, 1 not tried/s)
})

withPython('bridge new writes for each type a bridge whose test passes, and never over a file', async (t) => {
  const home = t.testdir({})
  for (const type of [...bridgeTypes, 'cell_counter'])
    t.match(await benchd(home, ['bridge', 'new', `my_${type}`, '--type', type, '--folder', home]), {
      code: 0,
      stdout: new RegExp(`/my_${type}\\.py, [\\s\\S]*benchd-bridge@my_${type}\\.socket[\\s\\S]*bridge try my_${type}\\.py\\n$`),
    })
  t.equal(readdirSync(home).length, 2 * (bridgeTypes.length + 1) + 1, 'with one library')
  t.match(await benchd(home, ['bridge', 'new', 'my_scale', '--folder', home]), {
    code: 5,
    stderr: /my_scale\.py is there already and stays/,
  })
  for (const name of ['Balance', 'my-balance', 'json', 'benchd_bridge'])
    t.match(await benchd(home, ['bridge', 'new', name, '--folder', home]), { code: 2, stderr: /cannot name a bridge; take a small letter/ })
  const tested = spawn('python3', ['-W', 'error', '-m', 'unittest'], { cwd: home, stdio: ['ignore', 'pipe', 'pipe'] })
  const [words] = await Promise.all([
    text(tested.stderr),
    ...['shaker', 'transporter', 'cell_counter'].map((type) => skeletonPasses(t, home, type)),
  ])
  t.match(words, /\nOK\n$/)
})

async function skeletonPasses(t: Test, home: string, type: string): Promise<void> {
  const { code, stdout } = await benchd(home, ['bridge', 'try', `${home}/my_${type}.py`, '--yes', '--position', 'pad_1'])
  t.equal(code, 0, stdout)
  t.match(stdout, /\d+ passed, 0 failed, 1 not tried/)
}

withPython('Ctrl-C halts the instrument before the trial ends', async (t) => {
  const { port, did, says } = await instrument(t, 'tcp')
  const path = exampleIn(t.testdir({}), 'pump')
  const words = ['bridge', 'try', '--yes', '--with', 'pump.volume=10', '--', 'python3', path, ...port]
  const trial = running(t, t.testdirName, words)
  await says('begins pump')
  trial.child.kill('SIGINT')
  t.match(await trial.ended, { code: 130, stderr: /interrupted before its end/ })
  t.equal(did.at(-1), 'stops what runs')
})

test('a class of PyLabRobot is tried like any program', {
  skip: noPython || (!PYLABROBOT && 'PYLABROBOT names no checkout'),
}, async (t) => {
  const folder = t.testdir({})
  const clients = source('clients/python/')
  for (const file of readdirSync(clients)) if (/^benchd_bridge\w*\.py$/.test(file)) copyFileSync(`${clients}${file}`, `${folder}/${file}`)
  const program = ['python3', `${folder}/benchd_bridge.py`, 'pylabrobot', 'pylabrobot.legacy.heating_shaking.HeaterShakerChatterboxBackend']
  const words = ['bridge', 'try', '--yes', '--with', 'shake.speed=500', '--', ...program]
  const { code, stdout } = await benchd(folder, words, { PYTHONPATH: PYLABROBOT! })
  t.equal(code, 0, stdout)
  t.match(stdout, /note {2}proposed halt .*add "--halt", "stop_shaking,deactivate" to/)
  t.match(stdout, /pass {2}halt during shake .*\n[\s\S]*pass {2}killed during shake /)
})
