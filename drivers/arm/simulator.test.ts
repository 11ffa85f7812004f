import { test } from 'tap'
import { VirtualClock } from '../../src/kit/clock.ts'
import { simulate } from './simulator.ts'

function switchedOn() {
  const clock = new VirtualClock()
  const said: string[] = []
  const simulator = simulate({
    clock,
    settings: { speed: 100, can: ['gateway', 'access', 'elbow', 'joint'] },
    send: (bytes) => said.push(Buffer.from(bytes).toString('latin1')),
  })
  const ask = (text: string) => {
    said.length = 0
    simulator.receive(Buffer.from(text, 'latin1'))
    return said
  }
  return { clock, said, simulator, ask }
}

test('it tells where it is, also while it moves', async (t) => {
  const { ask, clock } = switchedOn()
  t.same(ask('where\n'), ['ok where unhomed 0.000 200.000 300.000 0.000 0.000 0.000 empty\n'])
  ask('home\r\n')
  await clock.advance(6000)
  ask('pick 300 200 300 0 0 0\n')
  await clock.advance(1500)
  t.same(ask('where\n'), ['ok where moving 150.000 200.000 300.000 0.000 0.000 0.000 empty\n'])
})

test('one move at a time', async (t) => {
  const { ask } = switchedOn()
  ask('home\n')
  t.same(ask('home\n'), ['err 4 home: it is moving\n'])
  t.same(ask('pick 300 200 300 0 0 0\n'), ['err 4 pick: it is moving\n'])
})

test('a stop answers the move first, then itself', async (t) => {
  const { ask, clock } = switchedOn()
  ask('home\n')
  t.same(ask('stop\n'), ['err 5 home: stopped\n', 'ok stop\n'])
  t.same(ask('pick 300 200 300 0 0 0\n'), ['err 3 pick: it does not know where it is\n'])
  await clock.advance(60_000)
  t.match(ask('where\n'), [/^ok where stopped /])
})

test('what it does not understand is refused', (t) => {
  const { ask } = switchedOn()
  t.same(ask('dance\n'), ['err 1 dance: no such command\n'])
  t.same(ask('???\n'), ['err 1 unknown: no such command\n'])
  t.same(ask('pick 1 2 3\n'), ['err 2 pick: six numbers are needed, and after them words that it knows\n'])
  t.same(ask('pick 1 2 3 4 5 x\n'), ['err 2 pick: six numbers are needed, and after them words that it knows\n'])
  t.same(ask('\n'), [])
  t.end()
})

test('a line in pieces is one line', (t) => {
  const { ask } = switchedOn()
  t.same(ask('wh'), [])
  t.match(ask('ere\nwho\n'), [/^ok where/, 'ok who simulated-arm SIM-0001 1.0\n'])
  t.end()
})

test('who has freed it after a stop may have taken the plate out, or left it: the next move finds what it needs', async (t) => {
  for (const [next, after] of [
    ['pick', 'full'],
    ['place', 'empty'],
  ] as const) {
    const { ask, clock, simulator, said } = switchedOn()
    ask('home\n')
    await clock.advance(6000)
    ask('pick 300 200 300 0 0 0\n')
    await clock.advance(60_000)
    ask('place 300 200 300 0 0 0\n')
    ask('stop\n')
    ask('home\n')
    await clock.advance(6000)
    ask(`${next} 300 200 300 0 0 0\n`)
    await clock.advance(60_000)
    t.same(said, [`ok ${next}\n`])
    t.equal(simulator.world.gripper, after)
    t.match(ask(`${next} 300 200 300 0 0 0\n`), [/^err 7 /], 'once')
  }
})

test('it says what it can, and refuses a move with a word that is wrong, without moving', async (t) => {
  const { ask, clock, simulator } = switchedOn()
  t.same(ask('can\n'), ['ok can gateway access elbow joint\n'])
  ask('home\n')
  await clock.advance(6000)
  const six = '300 200 300 0 0 0'
  for (const wrong of [
    `${six} via 1`,
    `${six} via`,
    `${six} elbow up`,
    `${six} access sideways - - -`,
    `${six} access vertical 1 2`,
    `${six} access vertical x - -`,
    `${six} via 0 access vertical - - -`,
    `joint 1 2 3`,
    `${six} gently`,
  ])
    t.match(ask(`pick ${wrong}\n`), [/^err 2 pick: /], wrong)
  for (const wrong of ['1', '1 1 2 3', `2 ${six}`, `0 ${six}`, `1 ${six} elbow`])
    t.match(ask(`via ${wrong}\n`), [/^err 2 via: the number/], wrong)
  t.match(ask('via 1 5000 0 0 0 0 0\n'), [/^err 2 via: beyond its reach/])
  t.equal(simulator.world.moving, false)
})

test('gateways count for the next move alone, the first begins a way anew, and the move says how many there are', async (t) => {
  const { ask, clock, simulator } = switchedOn()
  ask('home\n')
  await clock.advance(6000)
  const [gate, nest] = ['100 200 300 0 0 0', '300 200 300 0 0 0']
  const refused = (line: string, said: number, wanted: number) =>
    t.same(ask(`${line}\n`), [`err 2 pick: ${said} gateways were said before it, and not ${wanted}\n`])
  t.same(ask(`via 1 ${gate}\nvia 2 ${gate}\nvia 2 ${gate}\nwhere\n`).slice(0, 3), ['ok via\n', 'ok via\n', 'ok via\n'], 'said again')
  refused(`pick ${nest}`, 2, 0)
  refused(`pick ${nest} via 2`, 0, 2)
  for (const word of ['who', 'home', 'stop', 'home']) {
    ask(`via 1 ${gate}\n${word}\n`)
    await clock.advance(6000)
    refused(`pick ${nest} via 1`, 0, 1)
  }
  t.equal(simulator.world.moving, false)
  ask(`via 1 ${nest}\nvia 1 ${gate}\n`)
  t.same(ask(`pick ${nest} via 1\n`), [])
  await clock.advance(60_000)
  t.match(simulator.world, { gripper: 'full', pose: { x: 100, y: 200, z: 300 } })
})
