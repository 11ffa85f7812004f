import { test } from 'tap'
import * as v from 'valibot'
import { VirtualClock } from '../../src/kit/clock.ts'
import { shortNames } from './commands.ts'
import { models, settings } from './models.ts'
import { simulate } from './simulator.ts'

/** A host that says things and hears all that comes back, lines put together. */
function host(chosen: object = {}, baud?: number) {
  const clock = new VirtualClock()
  let heard = ''
  const simulator = simulate({
    clock,
    settings: v.parse(settings, chosen),
    send: (bytes) => {
      heard += Buffer.from(bytes).toString('latin1')
    },
    ...(baud && { baud: () => baud }),
  })
  const say = async (text: string, wait_ms = 100) => {
    heard = ''
    simulator.receive(Buffer.from(text, 'latin1'))
    await clock.advance(wait_ms)
    return heard
  }
  /** One command and its answer, without line ends. */
  const ask = async (command: string, wait_ms?: number) => (await say(`${command}\r`, wait_ms)).trimEnd()
  return { simulator, clock, say, ask }
}

test('a command may end with CR or with CRLF, and come in pieces', async (t) => {
  const { say } = host()
  t.equal(await say('getShakeState\r'), '3\r\n')
  t.equal(await say('getShakeState\r\n'), '3\r\n')
  t.equal(await say('getShake'), '')
  t.equal(await say('State\r'), '3\r\n')
})

test('commands that come back to back are answered in their order', async (t) => {
  const { say } = host()
  t.equal(await say('ssts700\rgsts\rgetElmState\r'), 'ok\r\n700\r\n3\r\n')
})

test('a command that it does not know is named in its answer', async (t) => {
  const { ask } = host({ model: '3000' })
  t.equal(await ask('dance'), 'u -> dance')
  t.equal(await ask('setElmLockPos'), 'u -> setElmLockPos')
  t.equal(await ask('getTempActual'), 'u -> getTempActual')
  t.equal(await ask('getShakeState5'), 'u -> getShakeState5')
})

test('it knows every command of the manual, by its long name and by its short one', async (t) => {
  const { ask } = host({ model: 'Q1' })
  for (const command of [...manual, ...Object.keys(shortNames)]) t.notMatch(await ask(command, 5000), /^u ->/, command)
})

test('every question is answered', async (t) => {
  const { ask } = host({ model: 'Q1' })
  for (const command of manual.filter((name) => /^(get|info|version)/.test(name))) t.match(await ask(command), /^(?!e$)./, command)
})

test('it speeds up and slows down in ramps', async (t) => {
  const { ask, clock } = host()
  await ask('setElmLockPos', 2000)
  await ask('setShakeAcceleration4')
  await ask('setShakeTargetSpeed1000')
  t.equal(await ask('shakeOn'), 'ok')
  await clock.advance(1900)
  t.equal(await ask('getShakeStateAsString', 15), 'RAMP+')
  const speed = Number(await ask('getShakeActualSpeed', 15))
  t.ok(speed > 400 && speed < 600, `${speed} rpm half way`)
  await clock.advance(2500)
  t.equal(await ask('getShakeActualSpeed'), '1000')
  t.equal(await ask('getShakeState'), '0')
  t.equal(await ask('shakeOff'), 'ok')
  t.equal(await ask('getShakeState'), '8')
  await clock.advance(7000)
  t.equal(await ask('getShakeState'), '3')
  t.equal(await ask('getShakeTargetSpeed'), '0')
})

test('a run with a time counts down and ends at home by itself', async (t) => {
  const { ask, clock } = host()
  await ask('selp', 2000)
  await ask('ssts500')
  await ask('sonwr20')
  await clock.advance(10_000)
  t.match(await ask('gsrt'), /^(9|10)$/)
  await clock.advance(17_000)
  t.equal(await ask('gsst'), '3')
})

test('it refuses to shake an unlocked plate, or at no speed', async (t) => {
  const { ask } = host()
  await ask('setShakeTargetSpeed500')
  t.equal(await ask('shakeOn'), 'e')
  await ask('setElmLockPos', 2000)
  await ask('setShakeTargetSpeed0')
  t.equal(await ask('shakeOn'), 'e')
})

test('it refuses values that are out of range, and commands without theirs', async (t) => {
  const { ask } = host()
  for (const command of ['setShakeTargetSpeed3001', 'setTempTarget991', 'setShakeDirection2', 'setBuzzer20', 'setShakeTargetSpeed']) {
    t.equal(await ask(command), 'e', command)
  }
})

test('the lock says ok only when it has arrived, and moves only at home', async (t) => {
  const { ask, say } = host()
  t.equal(await ask('setElmLockPos', 1000), '')
  t.equal(await say('', 1000), 'ok\r\n')
  await ask('shakeEmergencyOff')
  t.equal(await ask('setElmUnlockPos'), 'e')
  t.equal(await ask('shakeGoHome', 3000), 'ok')
  t.equal(await ask('setElmUnlockPos', 2000), 'ok')
  t.equal(await ask('getElmState'), '3')
})

test('an emergency stop goes before a motion that is under way', async (t) => {
  const { simulator, say } = host()
  await say('setElmLockPos\r', 500)
  t.equal(await say('shakeEmergencyOff\r'), 'e\r\nok\r\n')
  t.notOk(simulator.world.moving)
})

test('in ECO mode it can only be woken', async (t) => {
  const { ask, clock } = host()
  t.equal(await ask('setEcoMode'), 'ok')
  t.equal(await ask('getShakeState'), 'e')
  t.equal(await ask('leaveEcoMode'), 'ok')
  await clock.advance(3000)
  t.equal(await ask('getShakeState'), '3')
})

test('after a reset it tells when it is there again', async (t) => {
  const { ask, say } = host()
  t.match(await ask('resetDevice', 1000), /^ok\r\n\r\nQuantifoil Instruments GmbH\r\nDevice: {2}Q.MTP-BioShake 3000-T elm/)
  t.equal(await ask('getShakeState'), '99')
  t.equal(await ask('getErrorList'), '')
  t.match(await say('', 30_000), /Initialization complete\r\n\r\n$/)
  t.equal(await ask('getShakeState'), '3')
})

test('a reset is silent where the boot screen is off, and that outlives it', async (t) => {
  const { ask } = host({ model: 'Q1' })
  await ask('disableBootScreen')
  t.equal(await ask('resetDevice', 6000), 'ok')
  t.equal(await ask('resetDevice', 6000), 'ok')
})

test('a Q1 starts with the words that were recorded of one', async (t) => {
  const { say } = host({ model: 'Q1' })
  const said = await say('resetDevice\r', 6000)
  const degrees = '(T=22.0\xb0C)'
  t.same(said.split('\r\n'), [
    'ok',
    '',
    'Quantifoil Instruments GmbH',
    'Device:  Q.MTP-BioShake Q1 (simulated)',
    'Version: v0.0.0-simulated',
    'Serial:  SIM-0001',
    '',
    'Start device self test:',
    '',
    'Check EEPROM .......................... OK',
    `Configure temperature sensor 1 ........ OK ${degrees}`,
    `Configure temperature sensor 2 ........ OK ${degrees}`,
    `Configure temperature sensor 3 ........ OK ${degrees}`,
    `Check safety temperature sensor ....... OK ${degrees}`,
    'Check TEC power supply ................ OK (U=20.0V)',
    'Check FAN1 speed ...................... OK',
    'Check FAN2 speed ...................... OK',
    'Check ELM ............................. OK',
    'Initialization successfully completed.',
    '',
    '',
  ])
})

for (const model of Object.keys(models)) {
  test(`who waits two seconds for the next line of the start of a ${model} gets one, and the last within 30 s`, async (t) => {
    const { say } = host({ model })
    let said = await say('resetDevice\r', 1900)
    for (let ms = 1900; !said.includes('Initialization'); ms += 1900) {
      t.ok(ms < 28_000)
      said = await say('', 1900)
      t.match(said, /\n/)
    }
  })
}

test('the plate warms little by little, and cools when it is told no more', async (t) => {
  const { ask, clock } = host()
  t.equal(await ask('getTempActual'), '22.0')
  await ask('setTempTarget370')
  await ask('tempOn')
  await clock.advance(60_000)
  const soon = Number(await ask('getTempActual'))
  t.ok(soon > 25 && soon < 36, `${soon} °C`)
  await clock.advance(900_000)
  t.equal(await ask('getTempActual'), '37.0')
  await ask('tempOff')
  await clock.advance(900_000)
  t.equal(await ask('getTempActual'), '22.0')
})

test('only a model that cools goes below the room', async (t) => {
  for (const [model, reached] of [
    ['3000-T', '22.0'],
    ['ColdPlate', '10.0'],
  ] as const) {
    const { ask, clock } = host({ model })
    await ask('setTempTarget100')
    await ask('tempOn')
    await clock.advance(3_600_000)
    t.equal(await ask('getTempActual'), reached, model)
  }
})

test('each fault has its error, which goes when the fault is mended and it has gone home', async (t) => {
  for (const [fault, list] of [
    ['jam', '{102}'],
    ['overtemperature', '{210}'],
    ['interlock_open', '{303}'],
  ] as const) {
    const { simulator, ask } = host()
    t.ok(simulator.setFault(fault, true))
    t.equal(await ask('getErrorList'), list)
    simulator.setFault(fault, false)
    t.equal(await ask('shakeGoHome', 3000), 'ok')
    t.equal(await ask('getErrorList'), '{}')
  }
})

test('a model has no fault of what it has not', async (t) => {
  const { simulator } = host({ model: 'Heatplate' })
  t.notOk(simulator.setFault('jam', true))
  t.notOk(simulator.setFault('interlock_open', true))
  t.ok(simulator.setFault('overtemperature', true))
})

test('at another speed of the line it understands nothing', async (t) => {
  const { say } = host({}, 19_200)
  t.equal(await say('getShakeState\r'), '')
})

test('switched off, it holds no timer and says nothing', async (t) => {
  const { simulator, clock, say } = host()
  await say('setElmLockPos\r', 500)
  simulator.powerOff()
  t.equal(clock.timers, 0)
  t.equal(await say('getShakeState\r', 5000), '')
})

const manual =
  `info version getVersion getDescription getSerial getErrorList enableBootScreen disableBootScreen getCLED flashLed setBuzzer100
  leaveEcoMode setShakeTargetSpeed500 getShakeTargetSpeed getShakeActualSpeed getShakeMinRpm getShakeMaxRpm getShakeSpeedLimitMin
  getShakeSpeedLimitMax setShakeSpeedLimitMin300 setShakeSpeedLimitMax2000 setShakeAcceleration2 getShakeAcceleration
  getShakeAccelerationMin getShakeAccelerationMax setShakeDirection1 getShakeDirection setShakeDefaultDirection1
  getShakeDefaultDirection shakeOn shakeOnWithRuntime5 getShakeRemainingTime shakeOff shakeOffNonZeroPos
  shakeOffWithDeenergizeSoleonid shakeEmergencyOff shakeGoHome getShakeState getShakeStateAsString getShakeZPV tempOn tempOff
  getTempState getTempStateAsString setTempTarget370 getTempTarget getTempActual getTempMin getTempMax getTempLimiterMin
  getTempLimiterMax setTempLimiterMin0 setTempLimiterMax990 getTemp40Calibr setTemp40Calibr400 getTemp90Calibr setTemp90Calibr900
  setElmLockPos setElmUnlockPos getElmState getElmStateAsString setElmSelftest1 getElmSelftest setElmStartupPosition0
  getElmStartupPosition setEcoMode leaveEcoMode enableCLED disableCLED resetDevice`.split(/\s+/)
