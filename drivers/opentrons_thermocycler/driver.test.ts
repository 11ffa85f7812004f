import { test } from 'tap'
import { tampered } from '../../src/conformance/tampered.ts'
import { type Bench, calm, onSimulator } from '../../src/testing/drivers.ts'
import { driver } from './driver.ts'

const generations = ['GEN1', 'GEN2'] as const

async function bench(model: (typeof generations)[number] = 'GEN2') {
  const { driver: same, hand } = tampered(driver)
  const bench = await onSimulator(same, { model })
  await bench.run(bench.device.initialize({}, calm))
  bench.written.length = 0
  return { ...bench, hand }
}

function begin<T>(operation: Promise<T>): Promise<T> {
  operation.catch(() => {})
  return operation
}

/** Sends the thermocycler a line, as another program or a person at its button would. */
function byHand({ line }: Pick<Bench, 'line'>, code: string): void {
  line.simulator.receive(Buffer.from(`${code}\r\n`))
}

const identities = {
  GEN1: 'Thermocycler GEN1 (v02)',
  GEN2: 'Thermocycler GEN2 (Opentrons-thermocycler-gen2)',
}

for (const model of generations) {
  test(`${model}: initialize learns who it is, and switches and moves nothing`, async (t) => {
    const { device, run, written } = await onSimulator(driver, { model })
    const identity = { model: identities[model], serial_number: 'SIM-0001', firmware_version: 'v0.0.0-simulated' }
    t.same(await run(device.initialize({}, calm)), { identity })
    t.same([...new Set(written)], ['M119\r\n', 'M115\r\n', 'M105\r\n', 'M141\r\n'])
  })

  test(`${model}: the lid opens and closes, as slowly as a real one`, async (t) => {
    const { device, run, line, clock } = await bench(model)
    for (const [move, lid] of [
      [device.open!, 'open'],
      [device.open!, 'open'],
      [device.close!, 'closed'],
    ] as const) {
      await run(move({}, calm))
      t.equal(line.simulator.world.lid, lid)
    }
    t.ok(clock.now() > 30_000)
  })

  test(`${model}: a lid that is stuck is a fault, in words`, async (t) => {
    const { device, run, line, clock } = await bench(model)
    const opening = begin(device.open!({}, calm))
    await clock.advance(8000)
    line.setFault('jam')
    await t.rejects(run(opening), {
      code: 'device_failed',
      message: model === 'GEN1' ? /neither open nor closed; see what/ : /ERR502 \(the motor/,
    })
  })

  test(`${model}: block and lid have targets of their own, above the room and below it`, async (t) => {
    const { device, run, clock, written } = await bench(model)
    await run(device.set_temperature!({ temperature: 4 }, calm))
    await run(device.set_lid_temperature!({ lid_temperature: 105 }, calm))
    t.ok(written.includes('M104 S4\r\n') && written.includes('M140 S105\r\n'))
    for (let minutes = 0; minutes < 30; minutes++) {
      await clock.advance(60_000)
      await run(device.check())
    }
    t.same(await run(device.get_temperature!()), { temperature: 4, target: 4 })
    t.same(await run(device.get_lid_temperature!()), { lid_temperature: 105, target: 105 })
    await run(device.set_temperature!({ temperature: null }, calm))
    t.match(await run(device.get_lid_temperature!()), { target: 105 }, 'the lid stays on')
    await run(device.set_lid_temperature!({ lid_temperature: null }, calm))
    t.match(await run(device.get_lid_temperature!()), { target: null })
  })

  test(`${model}: in a profile the instrument keeps the time of each step, and the driver sends the next one`, async (t) => {
    const { device, run, written, clock } = await bench(model)
    const steps = [
      { temperature: 95, seconds: 30 },
      { temperature: 60, seconds: 45 },
    ]
    const sent: { code: string; at: number; temperature: number }[] = []
    const running = device.run_profile!({ steps, repetitions: 2 }, calm)
    let seen = 0
    const ended = running.then(() => sent.push({ code: 'end', at: clock.now(), temperature: 0 }))
    while (sent.at(-1)?.code !== 'end') {
      await clock.advance(50)
      for (const code of written.slice(seen)) if (code.startsWith('M104')) sent.push({ code: code.trim(), at: clock.now(), temperature: 0 })
      seen = written.length
    }
    await ended
    t.same(
      sent.map(({ code }) => code),
      ['M104 S95 H30', 'M104 S60 H45', 'M104 S95 H30', 'M104 S60 H45', 'end'],
    )
    const lasted = sent.slice(1).map(({ at }, i) => (at - sent[i]!.at) / 1000)
    for (const [i, seconds] of lasted.entries()) {
      const { seconds: held } = steps[i % 2]!
      t.ok(seconds >= held && seconds < held + 45, `step ${i + 1} lasted ${seconds} s`)
    }
    const { target, temperature } = await run(device.get_temperature!())
    t.equal(target, 60, 'the last temperature is held')
    t.ok(Math.abs(temperature - 60) < 1)
  })

  test(`${model}: a step is not left before its time, also where whole seconds are told`, async (t) => {
    const { device, run, line, clock, written } = await bench(model)
    const running = begin(device.run_profile!({ steps: [{ temperature: 50, seconds: 3 }], repetitions: 1 }, calm))
    while (!/M104/.test(written.join(''))) await clock.advance(5)
    const near = model === 'GEN1' ? 1.5 : 1
    while (Math.abs((line.simulator.world.temperature as number) - 50) > near) await clock.advance(5)
    const from = clock.now()
    await run(running)
    t.ok(clock.now() - from >= 2990, `${clock.now() - from} ms`)
  })

  test(`${model}: a profile that is ended early holds the temperature of its step`, async (t) => {
    const { device, run, clock, written } = await bench(model)
    const steps = [
      { temperature: 95, seconds: 600 },
      { temperature: 60, seconds: 600 },
    ]
    const running = begin(device.run_profile!({ steps, repetitions: 3 }, calm))
    await clock.advance(100_000)
    const { seconds_left } = await run(device.end!())
    await run(running)
    t.ok(seconds_left > 3500 && seconds_left < 3650, `${seconds_left} s`)
    t.ok(written.includes('M104 S95\r\n'))
    t.match(await run(device.get_temperature!()), { target: 95 })
  })

  test(`${model}: a halt switches off block and lid, and counts when the lid stands`, async (t) => {
    const { device, run, line, clock, written } = await bench(model)
    await run(device.set_temperature!({ temperature: 95 }, calm))
    await run(device.set_lid_temperature!({ lid_temperature: 105 }, calm))
    written.length = 0
    const began = clock.now()
    const halting = device.halt()
    t.same(written, ['M18\r\n'])
    await run(halting)
    t.ok(clock.now() - began < 400, `${clock.now() - began} ms`)
    t.match(line.simulator.world, { heating: false })
    const opening = begin(device.open!({}, calm))
    await clock.advance(2000)
    await run(device.halt())
    t.match(line.simulator.world, { lid: 'open', moving: false })
    await t.rejects(opening, { code: 'stopped' })
  })

  test(`${model}: without a closed lid no profile begins, and a lid that opens ends it`, async (t) => {
    const { device, run, line, clock, written } = await bench(model)
    const steps = [{ temperature: 95, seconds: 60 }]
    await run(device.open!({}, calm))
    await t.rejects(run(device.run_profile!({ steps, repetitions: 1 }, calm)), { code: 'interlock', message: /close the lid first/ })
    t.notOk(written.some((code) => code.startsWith('M104')))
    await run(device.close!({}, calm))
    const running = begin(device.run_profile!({ steps, repetitions: 1 }, calm))
    await clock.advance(10_000)
    line.setFault('interlock_open')
    await t.rejects(run(running), { code: 'device_failed', message: /its lid is neither open nor closed while a profile runs/ })
  })

  for (const [part, set, reading] of [
    ['block', { temperature: 60 }, 'M105'],
    ['lid', { lid_temperature: 60 }, 'M141'],
  ] as const) {
    const setIt = ({ device }: Bench) =>
      'temperature' in set ? device.set_temperature!(set, calm) : device.set_lid_temperature!(set, calm)

    test(`${model}: a ${part} whose sensor is stuck, shows nonsense or is too hot has failed, and all is switched off`, async (t) => {
      for (const [shown, words, wait_ms] of [
        ['22.00', /does not get warm/, 400_000],
        ['-273.00', /which cannot be/, 1000],
        ['119.00', /hotter than it may ever be/, 1000],
        ['75.00', /and was set to 60/, 1000],
      ] as const) {
        const b = await bench(model)
        await b.run(setIt(b))
        b.hand.change((bytes, send) => {
          const text = Buffer.from(bytes).toString()
          send(Buffer.from(b.written.at(-1)?.startsWith(reading) ? text.replace(/C:\S+/, `C:${shown}`) : text))
        })
        await b.clock.advance(wait_ms)
        await t.rejects(b.run(b.device.check()), { code: 'device_failed', message: words })
        t.equal(b.written.at(-1), 'M18\r\n')
        await b.clock.advance(100)
        t.notOk(b.line.simulator.world.heating)
      }
    })

    test(`${model}: a ${part} that is off though it was set has restarted`, async (t) => {
      const b = await bench(model)
      await b.run(setIt(b))
      byHand(b, part === 'block' ? 'M14' : 'M108')
      await t.rejects(b.run(b.device.check()), { code: 'device_failed', message: new RegExp(`its ${part} was set to 60 °C and is off`) })
    })

    test(`${model}: when nobody sees a hot ${part} any more, it is switched off`, async (t) => {
      const b = await bench(model)
      await b.run(setIt(b))
      b.line.setFault('no_reply')
      await t.rejects(b.run(b.device.check()), { code: 'no_reply' })
      await b.clock.advance(100)
      t.notOk(b.line.simulator.world.heating)
    })
  }
}

test('GEN1 in error says so every two seconds, and takes no target', async (t) => {
  const { device, run, line, clock } = await bench('GEN1')
  await run(device.set_temperature!({ temperature: 95 }, calm))
  line.setFault('overtemperature')
  await clock.advance(2100)
  await t.rejects(run(device.check()), { code: 'device_failed', message: /"System too hot." \(the block or the heat sink was too hot/ })
  await t.rejects(run(device.set_temperature!({ temperature: 95 }, calm)), { code: 'device_failed' })
  t.notOk(line.simulator.world.heating)
})

test('GEN2 tells an error of the block by itself, and refuses a target with it', async (t) => {
  const { device, run, line, clock } = await bench('GEN2')
  await run(device.set_temperature!({ temperature: 95 }, calm))
  line.setFault('overtemperature')
  await clock.advance(100)
  await t.rejects(run(device.check()), { code: 'device_failed', message: /ERR212 \(the thermistor front center is too hot\)/ })
  await run(device.halt())
  await t.rejects(run(device.initialize({}, calm)), { code: 'device_failed' }, 'it is as hot as before')
  line.clearFaults()
  await run(device.initialize({}, calm))
  await run(device.check())
})

test('a lid that is moving refuses another motion, and nothing is wrong', async (t) => {
  const b = await bench('GEN2')
  byHand(b, 'M126')
  await b.clock.advance(1000)
  await t.rejects(b.run(b.device.close!({}, calm)), { code: 'interlock', message: /ERR501 \(the lid is moving\)/ })
})

test('the error without an end of line is understood, and the answer behind it too', async (t) => {
  const { device, run, hand, written } = await bench('GEN2')
  const endless = 'ERR509:lid:Lid status does not match expected open/closed status'
  hand.change((bytes, send) => send(written.at(-1)?.startsWith('M126') ? Buffer.from(endless) : bytes))
  await t.rejects(run(device.open!({}, calm)), { code: 'device_failed', message: /ERR509 \(the lid did not come to its end\)/ })
  hand.leave()
  hand.say(Buffer.from(endless))
  t.match(await run(device.get_temperature!()), { target: null })
})

test('a target, or a time, that somebody else has set in a profile ends it', async (t) => {
  for (const code of ['M104 S50 H60', 'M104 S95 H10', 'M104 S95']) {
    const b = await bench('GEN2')
    const running = begin(b.device.run_profile!({ steps: [{ temperature: 95, seconds: 60 }], repetitions: 1 }, calm))
    await b.clock.advance(10_000)
    byHand(b, code)
    await t.rejects(b.run(running), { code: 'device_failed', message: /should hold 95 °C for 60 s and was set otherwise/ })
  }
})

test('a step that the block never comes near is a fault', async (t) => {
  const { device, run, hand } = await bench('GEN2')
  hand.replace(/C:\S+ H:\S+/, 'C:58.00 H:60.00')
  const running = begin(device.run_profile!({ steps: [{ temperature: 60, seconds: 60 }], repetitions: 1 }, calm))
  await t.rejects(run(running), { code: 'device_failed', message: /should hold 60 °C for 60 s and has 58 °C/ })
})
