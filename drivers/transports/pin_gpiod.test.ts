// The tools themselves are stand-ins here, scripts that take the options of their generation and no others. The guest has the real ones:
// 2.2 in Debian 13, 1.6 in Debian 12, both without a prompt.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { type Test, test } from 'tap'
import type { Pin, PinBackend } from './pin.ts'
import { chipsIn, probeGpiod } from './pin_gpiod.ts'

const takes = {
  1: { set: '--mode=signal', obey: '', get: '', monitor: '--line-buffered --format=%e', rising: '1', falling: '0', version: 'v1.6.3' },
  2: {
    set: '--chip=gpiochip0',
    obey: '--interactive --chip=gpiochip0',
    get: '--numeric --chip=gpiochip0',
    monitor: '--format=%E --chip=gpiochip0',
    rising: 'rising',
    falling: 'falling',
    version: 'v2.2.1',
  },
}
type Generation = keyof typeof takes

/**
 * Lines are files: `LINE` has the level, and `LINE.held` the number of the process that has the line. As the real ones, they have a
 * file open that is called `gpio-line`. `obeys` is whether gpioset of generation 2 was built with its prompt.
 */
async function tools(t: Test, generation: Generation, obeys = true): Promise<{ folder: string; backend: PinBackend }> {
  const { set, obey, get, monitor, rising, falling, version } = takes[generation]
  const folder = t.testdir({ log: '', begun: '' })
  const chip = generation === 1 ? ' gpiochip0' : ''
  const must = (options: string, operand: string) =>
    `[ "$*" = "${`${options}${chip}`.trim()} ${operand}" ] || { echo "bad options: $*" >&2; exit 1; }`
  const hold = `[ -e "$d/$line.held" ] && kill -0 "$(cat "$d/$line.held")" 2>/dev/null && { echo "Device or resource busy" >&2; exit 1; }
echo $$ >"$d/$line.held"
echo "\${0##*/} $line" >>"$d/begun"`
  const has = 'exec 9>"$d/gpio-line"'
  const drive = (level: string) => `echo ${level} >"$d/$line"; echo "$line=${level}" >>"$d/log"`
  const prompt = `while :; do
  printf 'gpioset> '
  read -r word what || { sleep 0.02; continue; }
  case $word in
    set) level=\${what#*=}; ${drive('$level')} ;;
    get) [ "$(cat "$d/$line")" = 1 ] && echo ""$line"=active" || echo ""$line"=inactive"
      while [ -e "$d/slow" ]; do sleep 0.02; done ;;
    exit) exit ;;
  esac
done`
  const isTold = generation === 2 && obeys
  const scripts = {
    gpiodetect: 'echo "gpiochip0 [pinctrl-bcm2711] (58 lines)"',
    gpioset: `d=$(dirname "$0")
[ "$1" = --version ] && { echo "gpioset (libgpiod) ${version}"; exit; }
[ "$1" = --help ] && { echo "${isTold ? '  -i, --interactive' : '  -p, --hold-period'}"; exit; }
for last; do :; done
${must(isTold ? obey : set, '$last')}
line=\${last%=*} level=\${last#*=}
${hold}
${drive('$level')}
${has}
${isTold ? prompt : 'while :; do sleep 0.02; done'}`,
    gpioget: `d=$(dirname "$0")
for line; do :; done
${must(get, '$line')}
${hold}
${has}
cat "$d/$line"`,
    gpiomon: `d=$(dirname "$0")
for line; do :; done
${must(monitor, '$line')}
was=$(cat "$d/$line")
${hold}
${has}
while :; do
  [ -e "$d/burst" ] && { echo 1 >"$d/$line"; was=1; mv "$d/burst" "$d/said"; cat "$d/said"; }
  now=$(cat "$d/$line")
  [ -n "$now" ] && [ "$now" != "$was" ] && { was=$now; [ "$now" = 1 ] && echo ${rising} || echo ${falling}; }
  sleep 0.01
done`,
  }
  for (const [name, script] of Object.entries(scripts)) {
    await writeFile(`${folder}/${name}`, `#!/bin/sh\n${script}\n`)
    await chmod(`${folder}/${name}`, 0o755)
  }
  const probed = await probeGpiod(folder)
  if (!('backend' in probed)) throw new Error(probed.reason)
  return { folder, backend: probed.backend }
}

async function until(passes: () => Promise<boolean>): Promise<void> {
  while (!(await passes())) await new Promise(setImmediate)
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

const log = (folder: string) => readFile(`${folder}/log`, 'utf8')
/** How often the tools have taken a line. */
const begun = async (folder: string) => (await readFile(`${folder}/begun`, 'utf8')).split('\n').filter(Boolean)

async function opened(t: Test, backend: PinBackend, bcm: number, use: Parameters<PinBackend['open']>[1]): Promise<Pin> {
  const pin = await backend.open({ bcm }, use, (reason) => t.fail(reason))
  t.teardown(() => pin.close())
  return pin
}

const outputs = [
  { what: 'of generation 1', generation: 1, obeys: false, processes: 4 },
  { what: 'of generation 2', generation: 2, obeys: true, processes: 1 },
  { what: 'of generation 2 whose gpioset takes no words', generation: 2, obeys: false, processes: 4 },
] as const
for (const { what, generation, obeys, processes } of outputs) {
  test(`an output ${what} is held from the first at its inactive level, and set`, async (t) => {
    const { folder, backend } = await tools(t, generation, obeys)
    const pin = await opened(t, backend, 17, { mode: 'out', active_low: true })
    t.equal(await pin.read(), false)
    await pin.write(true)
    t.equal(await pin.read(), true)
    await pin.writeNow(false)
    t.equal(await log(folder), '17=1\n17=0\n17=1\n')
    await pin.write(true)
    t.equal((await begun(folder)).length, processes)
    await pin.close()
    t.equal(await readFile(`${folder}/17`, 'utf8'), '1\n', 'it is off when it is let go')
  })
}

for (const { what, generation, obeys } of outputs) {
  test(`an output ${what} is set once, also when this process stands still meanwhile`, async (t) => {
    const { folder, backend } = await tools(t, generation, obeys)
    const pin = await opened(t, backend, 17, { mode: 'out', active_low: true })
    // From here timers ring before anything is read.
    await new Promise(setImmediate)
    const written = pin.write(true)
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 600)
    await written
    t.equal(await log(folder), '17=1\n17=0\n')
    t.equal(await pin.read(), true)
  })
}

for (const { what, generation, obeys } of outputs) {
  test(`an output ${what} is set to its safe level when its process is killed`, async (t) => {
    const { folder } = await tools(t, generation, obeys)
    const program = `
      const { probeGpiod } = await import(${JSON.stringify(new URL('./pin_gpiod.js', import.meta.url).href)})
      const { backend } = await probeGpiod(${JSON.stringify(folder)})
      const pin = await backend.open({ bcm: 17 }, { mode: 'out', active_low: true }, console.error)
      await pin.write(true)
      console.log('on')
      setInterval(() => {}, 1000)`
    const child = spawn(process.execPath, ['--input-type=module', '-e', program], { stdio: ['ignore', 'pipe', 'inherit'] })
    await once(child.stdout, 'data')
    t.equal(await log(folder), '17=1\n17=0\n')
    child.kill('SIGKILL')
    await until(async () => (await log(folder)) === '17=1\n17=0\n17=1\n')
    const holder = Number(await readFile(`${folder}/17.held`, 'utf8'))
    await until(async () => !isRunning(holder))
  })
}

test('an output is set to its safe level also when gpioset has something to say to the process that was killed', async (t) => {
  const { folder } = await tools(t, 2)
  const program = `
    const { writeFileSync } = await import('node:fs')
    const { probeGpiod } = await import(${JSON.stringify(new URL('./pin_gpiod.js', import.meta.url).href)})
    const { backend } = await probeGpiod(${JSON.stringify(folder)})
    const pin = await backend.open({ bcm: 17 }, { mode: 'out', active_low: true }, console.error)
    writeFileSync(${JSON.stringify(`${folder}/slow`)}, '')
    await pin.write(true)
    console.log('on')
    setInterval(() => {}, 1000)`
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], { stdio: ['ignore', 'pipe', 'inherit'] })
  await once(child.stdout, 'data')
  const holder = Number(await readFile(`${folder}/17.held`, 'utf8'))
  child.kill('SIGKILL')
  await once(child, 'exit')
  // Its prompt comes only now, and nobody reads it.
  await rm(`${folder}/slow`)
  await until(async () => !isRunning(holder))
  t.equal(await log(folder), '17=1\n17=0\n17=1\n')
})

for (const { what, generation, obeys } of outputs.filter(({ obeys }) => !obeys)) {
  test(`an output ${what} is set to its safe level also when its keeper has something to say to the process that was killed`, async (t) => {
    const { folder } = await tools(t, generation, obeys)
    const program = `
      const { probeGpiod } = await import(${JSON.stringify(new URL('./pin_gpiod.js', import.meta.url).href)})
      const { backend } = await probeGpiod(${JSON.stringify(folder)})
      const pin = await backend.open({ bcm: 17 }, { mode: 'out', active_low: true }, console.error)
      console.log('open')
      process.stdin.once('data', () => {
        pin.writeNow(true).catch(console.error)
        console.log('on')
      })`
    const child = spawn(process.execPath, ['--input-type=module', '-e', program], { stdio: ['pipe', 'pipe', 'inherit'] })
    await once(child.stdout, 'data')
    const holder = await readFile(`${folder}/17.held`, 'utf8')
    const [, parent] = /^PPid:\s+(\d+)/m.exec(await readFile(`/proc/${holder.trim()}/status`, 'utf8'))!
    const keeper = Number(parent)
    process.kill(keeper, 'SIGSTOP')
    child.stdin.write('on')
    await once(child.stdout, 'data')
    child.kill('SIGKILL')
    await once(child, 'exit')
    // The keeper takes the word only now, and nobody reads its answer.
    process.kill(keeper, 'SIGCONT')
    await until(async () => !isRunning(keeper))
    t.equal((await log(folder)).at(-2), '1')
    t.notOk(isRunning(Number(await readFile(`${folder}/17.held`, 'utf8'))), 'nobody holds the line')
  })
}

for (const generation of [1, 2] as const) {
  test(`an input of generation ${generation} is read, and tells its edges`, async (t) => {
    const { folder, backend } = await tools(t, generation)
    await writeFile(`${folder}/27`, '0\n')
    const pin = await opened(t, backend, 27, { mode: 'in', active_low: true })
    t.equal(await pin.read(), true)
    const edges: boolean[] = []
    let told = () => {}
    const end = pin.onEdge((active) => {
      edges.push(active)
      told()
    })
    t.equal(await pin.read(), true)
    const before = await begun(folder)
    for (const level of [1, 0, 1]) {
      const edge = new Promise<void>((resolve) => {
        told = resolve
      })
      await writeFile(`${folder}/27`, `${level}\n`)
      await edge
      t.equal(await pin.read(), level === 0, 'it is read while it is listened to')
    }
    t.same(edges, [false, true, false])
    t.same(await begun(folder), before, 'and no tool is begun for that')
    end()
    t.equal(await pin.read(), false)
  })
}

test('an input of generation 1 is read anew after a burst, of which the last edges may be missing', async (t) => {
  const { folder, backend } = await tools(t, 1)
  await writeFile(`${folder}/27`, '0\n')
  const pin = await opened(t, backend, 27, { mode: 'in', active_low: false })
  const edges: boolean[] = []
  let told = (_active: boolean) => {}
  pin.onEdge((active) => {
    edges.push(active)
    told(active)
  })
  await pin.read()
  const reread = new Promise<void>((resolve) => {
    told = () => void (edges.length === 17 && resolve())
  })
  // The kernel kept 16 edges; the last one to the level 1 is not among them.
  await writeFile(`${folder}/draft`, '1\n0\n'.repeat(8))
  await rename(`${folder}/draft`, `${folder}/burst`)
  await reread
  t.equal(edges.at(-1), true)
  t.equal(await pin.read(), true)
})

test('an input whose gpiomon ends while it is listened to is lost', async (t) => {
  const { folder, backend } = await tools(t, 1)
  await writeFile(`${folder}/27`, '0\n')
  const lost = new Promise<string>((resolve) => {
    void backend.open({ bcm: 27 }, { mode: 'in', active_low: false }, resolve).then(async (pin) => {
      t.teardown(() => pin.close())
      pin.onEdge(() => {})
      await pin.read()
      process.kill(Number(await readFile(`${folder}/27.held`, 'utf8')))
    })
  })
  t.match(await lost, /gpiomon ended for line 27/)
})

for (const generation of [1, 2] as const) {
  test(`an output of generation ${generation} whose gpioset ends is not driven any more`, async (t) => {
    const { folder, backend } = await tools(t, generation)
    const pin = await backend.open({ bcm: 17 }, { mode: 'out', active_low: false }, () => {})
    t.teardown(() => pin.close())
    process.kill(Number(await readFile(`${folder}/17.held`, 'utf8')))
    await until(() =>
      pin.read().then(
        () => false,
        ({ message }) => /is not driven any more/.test(message),
      ),
    )
  })
}

test('an output that somebody else has is refused', async (t) => {
  const { folder, backend } = await tools(t, 1)
  await writeFile(`${folder}/gpioset`, '#!/bin/sh\n[ "$1" = --version ] && echo v1.6 || { echo "Device or resource busy" >&2; exit 1; }\n')
  await t.rejects(
    backend.open({ bcm: 17 }, { mode: 'out', active_low: false }, () => {}),
    {
      code: 'disconnected',
      message: /GPIO 17 cannot be opened: .*busy/,
    },
  )
})

test('tools that are missing, or of a generation that is not known, are named', async (t) => {
  t.match(await probeGpiod(t.testdir()), { name: 'gpiod', reason: /apt install gpiod/ })
  const { folder } = await tools(t, 1)
  await writeFile(`${folder}/gpioset`, '#!/bin/sh\necho "gpioset (libgpiod) v3.0"\n')
  t.match(await probeGpiod(folder), { reason: /versions 1 and 2 are known/ })
})

test('chips are found in what gpiodetect says', (t) => {
  t.same(chipsIn('gpiochip0 [pinctrl-rp1] (54 lines)\ngpiochip10 [gpio-brcmstb@1] (1 line)\ngpiochip0 [pinctrl-rp1] (54 lines)\n'), [
    { name: 'gpiochip0', label: 'pinctrl-rp1', lines: 54 },
    { name: 'gpiochip10', label: 'gpio-brcmstb@1', lines: 1 },
  ])
  t.end()
})
