import { test } from 'tap'
import { Bus } from './bus.ts'

function aBus() {
  const forwarded: string[] = []
  const broken: string[] = []
  const warnings: string[] = []
  const bus = new Bus({
    forward: (name) => forwarded.push(name),
    onBroken: (name) => broken.push(name),
    warn: (message) => warnings.push(message),
  })
  return { bus, forwarded, broken, warnings }
}

test('a subscriber of the specific name hears of that entity, one of the generalized name of every one, each under its own name', (t) => {
  const { bus, forwarded } = aBus()
  const heard: string[] = []
  bus.on('THREAD.a.MOVING', (name) => void heard.push(`specific ${name}`), null)
  bus.on('THREAD.MOVING', (name) => void heard.push(`general ${name}`), null)
  bus.emit('THREAD', 'a', 'MOVING', {})
  bus.emit('THREAD', 'b', 'MOVING', {})
  bus.emit('THREAD', 'a', 'PAUSED', {})
  t.same(heard, ['specific THREAD.a.MOVING', 'general THREAD.MOVING', 'general THREAD.MOVING'])
  t.same(forwarded, ['THREAD.a.MOVING', 'THREAD.b.MOVING', 'THREAD.a.PAUSED'])
  t.end()
})

test('an event of two parts is told once', (t) => {
  const { bus, forwarded } = aBus()
  let heard = 0
  bus.on('OPERATOR.INSTRUCTION', () => void heard++, null)
  bus.emit('OPERATOR', '', 'INSTRUCTION', {})
  t.equal(heard, 1)
  t.same(forwarded, ['OPERATOR.INSTRUCTION'])
  t.end()
})

test('handlers are called in the order they came, and one that throws stops no other', (t) => {
  const { bus, warnings } = aBus()
  const heard: number[] = []
  bus.on('THREAD.MOVING', () => void heard.push(1), null)
  bus.on(
    'THREAD.MOVING',
    () => {
      throw new Error('no')
    },
    null,
  )
  bus.on('THREAD.MOVING', () => void heard.push(3), null)
  bus.emit('THREAD', 'a', 'MOVING', {})
  t.same(heard, [1, 3])
  t.match(warnings[0], /failed: no/)
  t.end()
})

test('a bound object sees the system', (t) => {
  const { bus } = aBus()
  const seen: unknown[] = []
  const handler = {
    system: undefined as unknown,
    handle(name: string) {
      seen.push(name, this.system)
    },
  }
  bus.on('THREAD.MOVING', handler, 'the system')
  bus.emit('THREAD', 'a', 'MOVING', {})
  t.same(seen, ['THREAD.MOVING', 'the system'])
  t.end()
})

test('a handler that fails three times running is told of once, and a success begins the count anew', async (t) => {
  const { bus, broken } = aBus()
  let fails = true
  bus.on(
    'THREAD.MOVING',
    async () => {
      if (fails) throw new Error('no')
    },
    null,
  )
  const emit = async (times: number) => {
    for (let i = 0; i < times; i++) bus.emit('THREAD', 'a', 'MOVING', {})
    await new Promise(setImmediate)
  }
  await emit(2)
  t.equal(broken.length, 0)
  await emit(5)
  t.equal(broken.length, 1)
  fails = false
  await emit(1)
  fails = true
  await emit(3)
  t.equal(broken.length, 2)
})

test('what a handler causes comes after its cause', (t) => {
  const { bus, forwarded } = aBus()
  bus.on('THREAD.MOVING', () => bus.emit('CUSTOM', 'x', 'EMITTED', {}), null)
  bus.emit('THREAD', 'a', 'MOVING', {})
  t.same(forwarded, ['THREAD.a.MOVING', 'CUSTOM.x.EMITTED'])
  t.end()
})

test('handlers that call each other in a circle come to an end', (t) => {
  const { bus, forwarded } = aBus()
  bus.on('CUSTOM.EMITTED', () => bus.emit('CUSTOM', 'x', 'EMITTED', {}), null)
  bus.emit('CUSTOM', 'x', 'EMITTED', {})
  t.ok(forwarded.length < 20)
  t.end()
})
