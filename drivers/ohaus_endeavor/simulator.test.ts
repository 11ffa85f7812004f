import { test } from 'tap'
import { VirtualClock } from '../../src/kit/clock.ts'
import { simulate } from './simulator.ts'

function switchedOn() {
  const clock = new VirtualClock()
  const said: string[] = []
  const settings = { min_speed: 20, max_speed: 500 }
  const simulator = simulate({ clock, settings, send: (bytes) => said.push(Buffer.from(bytes).toString('latin1')) })
  const ask = (...words: string[]) => {
    said.length = 0
    for (const word of words) simulator.receive(Buffer.from(`${word}\r\n`, 'latin1'))
    return said.join('')
  }
  return { clock, simulator, said, ask }
}

test('it shakes until its timer has counted down', async (t) => {
  const { ask, clock, simulator } = switchedOn()
  t.equal(ask('TARGET_SPEED 300', 'TIMER 00:01:05', 'START_SHAKE'), '')
  t.equal(ask('PARAM 0'), '00:01:05, 9999, 1, 300, 0, 0,\r\n')
  await clock.advance(5000)
  t.equal(ask('PARAM 0'), '00:01:00, 9999, 1, 300, 300, 0,\r\n')
  await clock.advance(60_000)
  t.match(simulator.world, { moving: true, mode: 'idle' })
  await clock.advance(3000)
  t.equal(ask('PARAM 0'), '00:01:05, 9999, 0, 300, 0, 0,\r\n')
  t.notOk(simulator.world.moving)
})

test('with a timer that counts up it shakes until it is stopped', async (t) => {
  const { ask, clock } = switchedOn()
  ask('TIMER 00:00:10', 'TIMER 0', 'START_SHAKE')
  await clock.advance(3_600_000)
  t.equal(ask('TIMER', 'MODE'), '01:00:00\r\n1\r\n')
  t.equal(ask('STOP_SHAKE', 'TIMER', 'MODE'), '00:00:00\r\n0\r\n')
})

test('paused it stands, and its timer too', async (t) => {
  const { ask, clock } = switchedOn()
  ask('TIMER 00:00:30', 'START_SHAKE')
  await clock.advance(10_000)
  ask('PAUSE_SHAKE')
  await clock.advance(60_000)
  t.equal(ask('MODE', 'TIMER', 'MEASURED_SPEED'), '2\r\n00:00:20\r\n0\r\n')
  ask('START_SHAKE')
  await clock.advance(20_000)
  t.equal(ask('MODE'), '0\r\n')
})

test('a timer that is reset while it shakes begins again', async (t) => {
  const { ask, clock } = switchedOn()
  ask('TIMER 00:00:30', 'START_SHAKE')
  await clock.advance(20_000)
  ask('TIMER RESET')
  await clock.advance(20_000)
  t.equal(ask('MODE', 'TIMER'), '1\r\n00:00:10\r\n')
})

test('what is out of range or unknown changes nothing, and is not answered', (t) => {
  const { ask } = switchedOn()
  t.equal(ask('TARGET_SPEED 501', 'TARGET_SPEED 19', 'TARGET_SPEED x', 'TIMER 1:2', 'ID 0', 'PARAM x', 'DANCE', 'START_SHAKE 1'), '')
  t.equal(ask('PARAM 0'), '00:00:00, 9999, 0, 20, 0, 0,\r\n')
  t.equal(ask('ID 12', 'ID'), '12\r\n')
  t.end()
})

test('its parameters come as often as asked, until they are asked for once', async (t) => {
  const { ask, clock, said, simulator } = switchedOn()
  ask('PARAM 5')
  await clock.advance(20_000)
  t.equal(said.length, 5)
  ask('PARAM 0')
  await clock.advance(20_000)
  t.equal(said.length, 1)
  ask('PARAM 5')
  simulator.powerOff()
  t.equal(clock.timers, 0)
})

test('blocked it reports an error, until it is free and told to stop', async (t) => {
  const { ask, clock, simulator } = switchedOn()
  ask('TIMER 00:01:00', 'START_SHAKE')
  await clock.advance(5000)
  t.ok(simulator.setFault('jam', true))
  t.match(simulator.world, { moving: false, mode: 'error' })
  t.match(ask('STOP_SHAKE', 'START_SHAKE', 'PARAM 0'), / 99, 20, 0, 1,/)
  simulator.setFault('jam', false)
  t.match(ask('STOP_SHAKE', 'PARAM 0'), / 0, 20, 0, 0,/)
  t.notOk(simulator.setFault('overtemperature', true))
})
