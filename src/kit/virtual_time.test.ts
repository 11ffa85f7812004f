import { test } from 'tap'
import { StepQueue } from './steps.ts'
import { VirtualTime } from './virtual_time.ts'

function world() {
  const time = new VirtualTime()
  const steps = new StepQueue({ onIdle: () => time.ringNext() })
  time.drive(steps)
  return { time, steps }
}

test('time goes on when nothing is left to do, and rings in order', async (t) => {
  const { time } = world()
  const rung: string[] = []
  await new Promise<void>((resolve) => {
    time.after(2000, () => rung.push(`b at ${time.now()}`))
    time.after(1000, () => {
      rung.push(`a at ${time.now()}`)
      time.after(500, () => rung.push(`c at ${time.now()}`))
    })
    time.after(1000, () => rung.push('a2'))
    time.after(86_400_000, resolve)
  })
  t.same(rung, ['a at 1000', 'a2', 'c at 1500', 'b at 2000'])
  t.equal(time.now(), 86_400_000)
})

test('no timer rings before the steps of its moment are done', async (t) => {
  const { time, steps } = world()
  const seen: number[] = []
  const ended = new Promise<void>((resolve) => time.after(1000, resolve))
  for (let i = 0; i < 100; i++) steps.push(() => void steps.turn().then(() => seen.push(time.now())))
  await ended
  t.equal(seen.length, 100)
  t.ok(seen.every((now) => now === 0))
})

test('a timer that was called off does not ring, and moves no time', async (t) => {
  const { time } = world()
  const cancel = time.after(5000, () => t.fail('rung'))
  cancel()
  await new Promise<void>((resolve) => time.after(100, resolve))
  t.equal(time.now(), 100)
})

test('many timers ring in the order of their times', async (t) => {
  const { time } = world()
  const rung: number[] = []
  const times = Array.from({ length: 2000 }, (_, i) => (i * 48271) % 10_007)
  await new Promise<void>((resolve) => {
    for (const at of times) time.after(at, () => rung.push(at))
    time.after(10_008, resolve)
  })
  t.same(
    rung,
    [...times].sort((a, b) => a - b),
  )
})

test('time stands still while something outside is under way', async (t) => {
  const { time, steps } = world()
  const letGo = steps.hold()
  let rung = false
  time.after(1000, () => (rung = true))
  for (let i = 0; i < 10; i++) await new Promise(setImmediate)
  t.equal(rung, false)
  letGo()
  await new Promise<void>((resolve) => time.after(1000, resolve))
  t.equal(rung, true)
})

test('what was called off does not ring, and leaves the order of the others as it is', async (t) => {
  const time = new VirtualTime()
  const rung: number[] = []
  const callOff = Array.from({ length: 400 }, (_, i) => time.after((i * 37) % 400, () => rung.push((i * 37) % 400)))
  for (let i = 0; i < 300; i++) callOff[i]!()
  while (time.ringNext());
  const left = Array.from({ length: 100 }, (_, i) => ((i + 300) * 37) % 400)
  t.same(
    rung,
    left.toSorted((a, b) => a - b),
  )
  callOff[350]!()
  t.notOk(time.ringNext())
})

test('steps leave turns to others, and wait while there is no room for what they tell', async (t) => {
  let room: Promise<void> | undefined
  let makeRoom = () => {}
  const steps = new StepQueue({ backpressure: () => room })
  let done = 0
  const turns: number[] = []
  for (let i = 0; i < 64; i++) steps.push(() => done++)
  while (done < 64) {
    await new Promise(setImmediate)
    turns.push(done)
  }
  t.ok(turns.length >= 8, 'eight in a turn')
  room = new Promise((resolve) => (makeRoom = resolve))
  steps.push(() => done++)
  for (let i = 0; i < 10; i++) await new Promise(setImmediate)
  t.equal(done, 64)
  room = undefined
  makeRoom()
  await steps.turn()
  t.equal(done, 65)
})
