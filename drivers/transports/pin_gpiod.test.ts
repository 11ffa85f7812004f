// The tools themselves are stand-ins here, scripts that take the options of their generation and no others. The real ones, of the
// first generation, are tried in the guest.

import { existsSync } from 'node:fs'
import { chmod, readFile, writeFile } from 'node:fs/promises'
import { type Test, test } from 'tap'
import type { Pin, PinBackend } from './pin.ts'
import { chipsIn, probeGpiod } from './pin_gpiod.ts'

const takes = {
  1: { set: '--mode=signal', get: '', monitor: '--line-buffered --format=%e', info: '', rising: '1', falling: '0', version: 'v1.6.3' },
  2: {
    set: '--chip=gpiochip0',
    get: '--numeric --chip=gpiochip0',
    monitor: '--format=%E --chip=gpiochip0',
    info: '--chip=gpiochip0',
    rising: 'rising',
    falling: 'falling',
    version: 'v2.2.1',
  },
}
type Generation = keyof typeof takes

/** Lines are files: `LINE` has the level, and `LINE.held` is there while a tool has the line. */
async function tools(t: Test, generation: Generation): Promise<{ folder: string; backend: PinBackend }> {
  const { set, get, monitor, info, rising, falling, version } = takes[generation]
  const folder = t.testdir({ log: '' })
  const chip = generation === 1 ? ' gpiochip0' : ''
  const must = (options: string, operand: string) =>
    `line=; [ "$*" = "${`${options}${chip}`.trim()} ${operand}" ] || { echo "bad options: $*" >&2; exit 1; }`
  const hold = 'd=$(dirname "$0"); [ -e "$d/$line.held" ] && { echo "Device or resource busy" >&2; exit 1; }; touch "$d/$line.held"'
  const scripts = {
    gpiodetect: 'echo "gpiochip0 [pinctrl-bcm2711] (58 lines)"',
    gpioset: `[ "$1" = --version ] && { echo "gpioset (libgpiod) ${version}"; exit; }
for last; do :; done
${must(set, '$last')}
line=\${last%=*}
${hold}
trap 'rm "$d/$line.held"; exit 0' TERM
echo "$last" >>"$d/log"
echo "\${last#*=}" >"$d/$line"
while :; do sleep 0.02; done`,
    gpioget: `for last; do :; done
${must(get, '$last')}
line=$last
${hold}
cat "$d/$line"
rm "$d/$line.held"`,
    gpiomon: `for last; do :; done
${must(monitor, '$last')}
line=$last
${hold}
trap 'rm "$d/$line.held" "$d/$line.watched"; exit 0' TERM
was=$(cat "$d/$line")
touch "$d/$line.watched"
while :; do
  now=$(cat "$d/$line")
  [ "$now" != "$was" ] && { [ "$now" = 1 ] && echo ${rising} || echo ${falling}; }
  was=$now
  sleep 0.01
done`,
    gpioinfo: `[ "$*" = "${info || 'gpiochip0'}" ] || exit 1
d=$(dirname "$0")
for held in "$d"/*.held; do l=\${held%.held}; printf '\\tline %3s:\\tunnamed\\t"gpioset"\\toutput\\n' "\${l##*/}"; done`,
  }
  for (const [name, script] of Object.entries(scripts)) {
    await writeFile(`${folder}/${name}`, `#!/bin/sh\n${script}\n`)
    await chmod(`${folder}/${name}`, 0o755)
  }
  const probed = await probeGpiod(folder)
  if (!('backend' in probed)) throw new Error(probed.reason)
  return { folder, backend: probed.backend }
}

const log = (folder: string) => readFile(`${folder}/log`, 'utf8')

async function opened(t: Test, backend: PinBackend, bcm: number, use: Parameters<PinBackend['open']>[1]): Promise<Pin> {
  const pin = await backend.open({ bcm }, use, (reason) => t.fail(reason))
  t.teardown(() => pin.close())
  return pin
}

async function until(passes: () => boolean): Promise<void> {
  while (!passes()) await new Promise(setImmediate)
}

for (const generation of [1, 2] as const) {
  test(`an output of generation ${generation} is held from the first at its inactive level, and set`, async (t) => {
    const { folder, backend } = await tools(t, generation)
    const pin = await opened(t, backend, 17, { mode: 'out', active_low: true })
    t.equal(await pin.read(), false)
    await pin.write(true)
    t.equal(await pin.read(), true)
    await pin.writeNow(false)
    t.equal(await log(folder), '17=1\n17=0\n17=1\n')
    await pin.write(true)
    await pin.close()
    t.equal(await readFile(`${folder}/17`, 'utf8'), '1\n', 'it is off when it is let go')
  })

  test(`an input of generation ${generation} is read, and tells its edges`, async (t) => {
    const { folder, backend } = await tools(t, generation)
    await writeFile(`${folder}/27`, '0\n')
    const pin = await opened(t, backend, 27, { mode: 'in', active_low: true })
    t.equal(await pin.read(), true)
    for (const level of [1, 0]) {
      const edge = new Promise<boolean>((resolve) => {
        const end = pin.onEdge((active) => {
          end()
          resolve(active)
        })
      })
      await until(() => existsSync(`${folder}/27.watched`))
      await writeFile(`${folder}/27`, `${level}\n`)
      t.equal(await edge, level === 0)
    }
    const end = pin.onEdge(() => {})
    await until(() => existsSync(`${folder}/27.watched`))
    await writeFile(`${folder}/27`, '1\n')
    t.equal(await pin.read(), false, 'it is read while it is listened to')
    end()
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
  t.same(chipsIn('gpiochip0 [pinctrl-rp1] (54 lines)\ngpiochip10 [gpio-brcmstb@1] (1 line)\n'), [
    { name: 'gpiochip0', label: 'pinctrl-rp1', lines: 54 },
    { name: 'gpiochip10', label: 'gpio-brcmstb@1', lines: 1 },
  ])
  t.end()
})
