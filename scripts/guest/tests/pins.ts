// GPIO pins by both back ends, on chips with the labels of a Raspberry Pi.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { after, beforeEach, type TestContext, test } from 'node:test'
import type { Pin, PinBackend, PinUse, Probe } from '../../../drivers/transports/pin.ts'
import { probeGpiod } from '../../../drivers/transports/pin_gpiod.ts'
import { probeOnoff } from '../../../drivers/transports/pin_onoff.ts'
import { GpioChip } from './gpio_chip.ts'
import { tools } from './gpio_tools.ts'
import { forget, now_ms } from './kernel_trace.ts'
import { until } from './waiting.ts'

// The header's chip is not the first, so that its numbers do not begin where they used to.
const other = new GpioChip('gpio-brcmstb', 8)
const header = new GpioChip('pinctrl-bcm2711', 58)
/** Of each its own: what is an output by sysfs stays one. */
const lines = { onoff: { relay: 17, door: 27, taken: 5, left: 12 }, gpiod: { relay: 22, door: 23, taken: 6, left: 13 } }

after(() => {
  header.remove()
  other.remove()
})
beforeEach(() => forget())

const backends = { onoff: gives(await probeOnoff()), gpiod: gives(await probeGpiod()) }
for (const name of ['onoff', 'gpiod'] as const) {
  const backend = backends[name]
  const { relay, door, taken } = lines[name]
  const open = (t: TestContext, bcm: number, use: PinUse) => opened(t, backend, bcm, use)

  test(`${name}: a pin is found by the label of its chip`, async (t) => {
    const pin = await open(t, relay, { mode: 'out', active_low: false })
    await pin.write(true)
    assert.equal(header.level(relay), 1)
    const third = await backend.open({ chip: 'gpio-brcmstb', line: taken }, { mode: 'out', active_low: false, initial: true }, fail)
    assert.equal(other.level(taken), 1)
    await third.close()
    await assert.rejects(backend.open({ bcm: 58 }, { mode: 'in', active_low: false }, fail), {
      code: 'disconnected',
      message: /lines 0 to 57/,
    })
    await assert.rejects(backend.open({ chip: 'gpiochip77', line: 0 }, { mode: 'in', active_low: false }, fail), { code: 'disconnected' })
  })

  test(`${name}: a relay that is on at the low level never clicks on before it is told to`, async (t) => {
    header.pull(relay, 'up')
    const pin = await open(t, relay, { mode: 'out', active_low: true })
    assert.ok(header.driven(relay).length > 0)
    assert.deepEqual(
      levels(relay).filter((level) => level === 0),
      [],
    )
    await pin.write(true)
    assert.equal(header.level(relay), 0)
    await pin.write(false)
    assert.equal(header.level(relay), 1)
    assert.equal(await pin.read(), false)
  })

  test(`${name}: a relay that is on at the high level never clicks on before it is told to`, async (t) => {
    const pin = await open(t, relay, { mode: 'out', active_low: false })
    assert.deepEqual(
      levels(relay).filter((level) => level === 1),
      [],
    )
    await pin.write(true)
    assert.equal(header.level(relay), 1)
  })

  test(`${name}: an output that is opened again does not lose its level on the way`, async (t) => {
    const pin = await open(t, relay, { mode: 'out', active_low: true, initial: false })
    await pin.close()
    header.pull(relay, 'up')
    forget()
    await open(t, relay, { mode: 'out', active_low: true, initial: false })
    assert.deepEqual(
      levels(relay).filter((level) => level === 0),
      [],
    )
  })

  test(`${name}: every change of a switch is told, as it is wired`, async (t) => {
    const pin = await open(t, door, { mode: 'in', active_low: true })
    assert.equal(await pin.read(), true)
    const seen: boolean[] = []
    const stop = pin.onEdge((active) => seen.push(active))
    await until('it is listened to', () => header.user(door))
    assert.equal(await pin.read(), true)
    for (const direction of ['up', 'down', 'up'] as const) {
      const count = seen.length
      const from = now_ms()
      header.pull(door, direction)
      await until('the change is told', () => seen.length > count, 2000)
      t.diagnostic(`told after ${(now_ms() - from).toFixed(0)} ms`)
    }
    assert.deepEqual(seen, [false, true, false])
    assert.equal(await pin.read(), false)
    stop()
  })

  test(`${name}: a pin that another program has cannot be opened`, async (t) => {
    const [program = '', ...words] = tools.hold(header.name, taken, 0)
    const holder = spawn(program, words, { stdio: ['ignore', 'ignore', 'inherit'] })
    t.after(() => holder.kill())
    await until('it is held', () => header.user(taken))
    await assert.rejects(open(t, taken, { mode: 'out', active_low: false }), {
      code: 'disconnected',
      message: /see that nothing else uses it/,
    })
  })
}

test('onoff: of edges that come while the process is busy the last level is told', async (t) => {
  const { door } = lines.onoff
  const pin = await opened(t, backends.onoff, door, { mode: 'in', active_low: true })
  const seen: boolean[] = []
  const stop = pin.onEdge((active) => seen.push(active))
  await until('it is listened to', () => header.user(door))
  for (let edges = 0; edges < 10; edges++) for (const direction of ['up', 'down'] as const) header.pull(door, direction)
  header.pull(door, 'up')
  await until('the last level is told', () => seen.at(-1) === false, 2000)
  t.diagnostic(`21 edges were told in ${seen.length} calls`)
  assert.ok(seen.length < 21)
  stop()
})

test('onoff: a stop is on the pin when the call returns', async (t) => {
  const { relay } = lines.onoff
  const pin = await opened(t, backends.onoff, relay, { mode: 'out', active_low: false, initial: true })
  const stopped = pin.writeNow(false)
  assert.equal(header.level(relay), 0)
  await stopped
})

test('gpiod: a stop follows the call', async (t) => {
  const { relay } = lines.gpiod
  const pin = await opened(t, backends.gpiod, relay, { mode: 'out', active_low: false, initial: true })
  const from = now_ms()
  await pin.writeNow(false)
  assert.equal(header.level(relay), 0)
  t.diagnostic(`off after ${(header.driven(relay).at(-1)!.at_ms - from).toFixed(0)} ms`)
})

test('onoff: an output keeps its level when its process is killed', async () => {
  const { left } = lines.onoff
  await killedWhileOn('onoff', left)
  assert.equal(header.level(left), 0)
  assert.equal(levels(left).at(-1), 0)
})

test('gpiod: an output is set to its safe level when its process is killed', async () => {
  const { left } = lines.gpiod
  await killedWhileOn('gpiod', left)
  await until('it is off', () => levels(left).at(-1) === 1)
})

/** Another process opens a relay that is on at the low level, switches it on, and is killed. */
async function killedWhileOn(name: 'onoff' | 'gpiod', bcm: number): Promise<void> {
  const [file, probe] = name === 'onoff' ? ['pin_onoff', 'probeOnoff'] : ['pin_gpiod', 'probeGpiod']
  const program = `
    const { ${probe} } = await import(${JSON.stringify(new URL(`../../../drivers/transports/${file}.js`, import.meta.url).href)})
    const { backend } = await ${probe}()
    const pin = await backend.open({ bcm: ${bcm} }, { mode: 'out', active_low: true }, console.error)
    await pin.write(true)
    console.log('on')
    setInterval(() => {}, 1000)`
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], { stdio: ['ignore', 'pipe', 'inherit'] })
  await once(child.stdout, 'data')
  assert.equal(header.level(bcm), 0)
  child.kill('SIGKILL')
  await once(child, 'exit')
}

function gives(probed: Probe): PinBackend {
  if ('backend' in probed) return probed.backend
  throw new Error(`${probed.name}: ${probed.reason}`)
}

async function opened(t: TestContext, backend: PinBackend, bcm: number, use: PinUse): Promise<Pin> {
  const pin = await backend.open({ bcm }, use, fail)
  t.after(() => pin.close())
  return pin
}

function fail(reason: string): void {
  throw new Error(`lost: ${reason}`)
}

function levels(line: number): number[] {
  return header.driven(line).map(({ level }) => level)
}

test('onoff: a chip that is unplugged while an input is watched ends nothing, and its pins work when it is there again', async () => {
  const use = { active_low: false } as const
  const place = (line: number) => ({ chip: 'usb-gpio', line })
  const edges: boolean[] = []
  let chip = new GpioChip('usb-gpio', 8)
  const open = async () => {
    const relay = await backends.onoff.open(place(1), { mode: 'out', ...use }, () => undefined)
    const door = await backends.onoff.open(place(2), { mode: 'in', ...use }, () => undefined)
    door.onEdge((active) => edges.push(active))
    return { relay, door }
  }
  const { relay, door } = await open()
  await relay.write(true)
  assert.equal(chip.level(1), 1)
  chip.remove()
  await assert.rejects(relay.write(true))
  await assert.rejects(relay.writeNow(false))
  await assert.rejects(door.read())
  for (const pin of [relay, door]) await pin.close().catch(() => undefined)
  chip = new GpioChip('usb-gpio', 8)
  const again = await open()
  await again.relay.write(true)
  assert.equal(chip.level(1), 1)
  chip.pull(2, 'up')
  await until('its edge is seen', () => edges.includes(true))
  assert.equal(await again.door.read(), true)
  for (const pin of [again.relay, again.door]) await pin.close()
  chip.remove()
})
