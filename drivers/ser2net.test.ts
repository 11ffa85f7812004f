// A device behind Debian's ser2net: one pseudo-terminal with the simulator at its far end, shared by these tests.

import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { test } from 'tap'
import type { Device } from '../src/devices/device.ts'
import { Ledger } from '../src/devices/ledger.ts'
import { noStores } from '../src/devices/no_stores.ts'
import { Registry } from '../src/devices/registry.ts'
import { WireLog } from '../src/devices/wire_log.ts'
import { type Clock, scaled, sleep, systemClock } from '../src/kit/clock.ts'
import { type Log, silent } from '../src/kit/log.ts'
import { freePort } from '../src/kit/ports.ts'
import { driver } from './bioshake/driver.ts'
import { serveOnPty } from './serve.ts'
import type { Line } from './transports/line.ts'
import { tcpLine } from './transports/tcp_line.ts'

const scale = 10
const noSer2net = spawnSync('ser2net', ['-v']).error !== undefined && 'ser2net is not installed here'

/** ser2net on that port, with the line of the instrument behind it, as the README of the transports says. */
function ser2net(folder: string, port: number, path: string, kicks = true): ChildProcess {
  const config = `${folder}/ser2net.yaml`
  writeFileSync(
    config,
    `connection: &shaker-1\n  accepter: tcp,127.0.0.1,${port}\n  connector: serialdev,${path},9600n81,local\n${kicks ? '  options:\n    kickolduser: true\n' : ''}`,
  )
  return spawn('ser2net', ['-n', '-u', '-c', config], { stdio: 'ignore' })
}

const settings = { model: '3000-T elm', acceleration: null } as const

/** The device `d` on that line. */
function registryOf({ device, link, clock }: { device: Device; link: Line; clock: Clock }, log: Log): Registry {
  const driven = { device, link, profile: driver.profile(settings), wire: new WireLog() }
  const about = {
    device_id: 'd',
    type: driver.type,
    name: 'D',
    driver: 'bioshake',
    simulated: false,
    time_scale: 1,
    bounds: {},
    identity: {},
  }
  const around = { clock, hub: { emit() {} }, ledger: new Ledger(), log, ...noStores }
  return new Registry([{ ...about, on_restart: 'halt' as const, driven }], around)
}

test('behind ser2net a shaker works, is stopped, and hears the stop that it did not hear when ser2net was away', {
  skip: noSer2net,
}, async (t) => {
  const folder = t.testdir()
  const port = await freePort()
  const served = await serveOnPty(driver, {}, { time_scale: scale, link: `${folder}/shaker` })
  let box = ser2net(folder, port, served.path)
  // Also where this process is ended from outside.
  process.once('exit', () => box.kill('SIGKILL'))
  const clock = scaled(systemClock, scale)
  const link = tcpLine({ host: '127.0.0.1', port, serial: driver.serial })
  const device = driver.open({ line: link, clock, settings })
  const registry = registryOf({ device, link, clock }, silent)
  const instrument = registry.find('d')
  const until = async (what: string, isSo: () => boolean) => {
    while (!isSo()) await sleep(systemClock, 20)
    t.pass(what)
  }
  const switchOff = async () => {
    const ended = once(box, 'exit')
    box.kill('SIGKILL')
    await ended
  }
  t.teardown(async () => {
    await registry.close()
    await switchOff()
    await served.close()
  })

  registry.start()
  await until('the service connects as soon as ser2net is there', () => instrument.info().identity !== null)
  t.match(instrument.info().identity, { model: /BIOSHAKE/i })
  await instrument.perform('initialize', {})
  await instrument.perform('lock_plate', {})
  t.match(await instrument.perform('shake', { speed: 500, duration: 5 }), { success: true })

  const stopped = instrument.perform('shake', { speed: 500, duration: 600 })
  await until('it shakes', () => served.simulator.world.moving)
  await instrument.halted(instrument.halt())
  t.match(await stopped, { success: false })
  await until('a stop is heard', () => !served.simulator.world.moving)

  await instrument.perform('initialize', {})
  await instrument.perform('lock_plate', {})
  const cut = instrument.perform('shake', { speed: 500, duration: 86_400 }).catch(() => undefined)
  await until('it shakes again', () => served.simulator.world.moving)
  await switchOff()
  await until('the loss of the connection is noticed', () => link.state === 'lost')
  await instrument.halted(instrument.halt()).catch(() => undefined)
  await cut
  t.ok(served.simulator.world.moving, 'the instrument did not hear the stop')
  box = ser2net(folder, port, served.path)
  await until('it hears the stop as soon as ser2net is there again', () => !served.simulator.world.moving)
  await until('the service knows', () => instrument.state === 'stopped')
})

test('a port of ser2net that another client uses is told as in use, in one line of the log, and is used when it is free', {
  skip: noSer2net,
}, async (t) => {
  const folder = t.testdir()
  const port = await freePort()
  const served = await serveOnPty(driver, {}, { time_scale: scale, link: `${folder}/shaker` })
  const box = ser2net(folder, port, served.path, false)
  process.once('exit', () => box.kill('SIGKILL'))
  const clock = scaled(systemClock, scale)
  const first = await connectedTo(port)
  const link = tcpLine({ host: '127.0.0.1', port, serial: driver.serial })
  let opened = 0
  const open = link.open.bind(link)
  link.open = () => open().finally(() => opened++)
  const lines: string[] = []
  const note = (line: string) => void lines.push(line)
  const device = driver.open({ line: link, clock, settings })
  const registry = registryOf({ device, link, clock }, { ...silent, info: note, warn: note })
  t.teardown(async () => {
    await registry.close()
    box.kill('SIGKILL')
    await served.close()
  })
  registry.start()
  while (opened < 5) await sleep(systemClock, 20)
  const inUse = lines.filter((line) => line.includes(`d cannot be reached: 127.0.0.1:${port} is in use by another client`))
  t.equal(inUse.length, 1, lines.join('\n'))
  // A reset may come before the words of the box; once they were heard, nothing is told again.
  t.equal(lines.at(-1), inUse[0], lines.join('\n'))
  t.notMatch(lines.join('\n'), /cable/)
  first.destroy()
  while (registry.find('d').info().identity === null) await sleep(systemClock, 20)
  t.pass('it is connected as soon as the other client is gone')
})

/** A client of the box, as soon as the box listens. */
async function connectedTo(port: number): Promise<Socket> {
  for (;;) {
    const socket = connect(port, '127.0.0.1')
    const outcome = await Promise.race([once(socket, 'connect').then(() => socket), once(socket, 'close')]).catch(() => undefined)
    if (outcome === socket) return socket
    await sleep(systemClock, 20)
  }
}
