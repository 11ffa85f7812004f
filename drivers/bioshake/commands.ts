// The command table of a simulated BioShake: the argument, the effect and the answer of each command.

import type { Ending, Heater, Motor, PlateLock } from './mechanism.ts'
import type { Model, Settings } from './models.ts'

/** The parts and the state that the commands work on. */
export type Instrument = {
  readonly model: Model
  readonly settings: Settings
  readonly motor: Motor
  readonly lock: PlateLock
  readonly heater: Heater
  readonly errors: ReadonlySet<number>
  /** Settings that survive a restart, by name. */
  readonly stored: Map<string, number>
  /** Whether nothing blocks motor and plate lock. */
  canMove(): boolean
  canHeat(): boolean
  /** Called when a motion has ended well. */
  recovered(): void
  /** Returns the lines with which the instrument identifies itself at each start. */
  title(): string[]
  /** Restarts a moment after the answer. */
  restartSoon(): void
}

/** Sends the answer: called once, now or when a motion has ended. */
export type Respond = (text: string) => void
type Command = {
  /** The range of its whole-number argument; absent for a command without one. */
  takes?: readonly [number, number]
  /** Returns the immediate answer; undefined if `answer` is called later, or there is none. */
  run(argument: number, answer: Respond): string | undefined
}
type Commands = Record<string, Command>

export function commandTable(instrument: Instrument): Commands {
  const { rpm, heating, locking } = instrument.model
  return {
    ...general(instrument),
    ...(rpm && shaking(instrument, rpm)),
    ...(heating && warming(instrument)),
    ...(locking && lockingPlates(instrument)),
  }
}

/** The short names that were observed in use. */
export const shortNames: Record<string, string> = {
  v: 'version',
  reset: 'resetDevice',
  gel: 'getErrorList',
  fled: 'flashLed',
  sem: 'setEcoMode',
  lem: 'leaveEcoMode',
  ssts: 'setShakeTargetSpeed',
  gsts: 'getShakeTargetSpeed',
  gsas: 'getShakeActualSpeed',
  ssa: 'setShakeAcceleration',
  gsa: 'getShakeAcceleration',
  son: 'shakeOn',
  sonwr: 'shakeOnWithRuntime',
  gsrt: 'getShakeRemainingTime',
  soff: 'shakeOff',
  soffnzp: 'shakeOffNonZeroPos',
  soffwds: 'shakeOffWithDeenergizeSoleonid',
  seoff: 'shakeEmergencyOff',
  sgh: 'shakeGoHome',
  gsst: 'getShakeState',
  ton: 'tempOn',
  toff: 'tempOff',
  gts: 'getTempState',
  gtsas: 'getTempStateAsString',
  stt: 'setTempTarget',
  gtt: 'getTempTarget',
  gta: 'getTempActual',
  selp: 'setElmLockPos',
  seup: 'setElmUnlockPos',
  ges: 'getElmState',
  gesas: 'getElmStateAsString',
}

function general(instrument: Instrument): Commands {
  const { settings, stored, errors } = instrument
  return {
    info: asks(() => instrument.title().join('\r\n')),
    version: asks(() => `Q.MTP-BIOSHAKE ${settings.model} v0.0.0-simulated`),
    getVersion: asks(() => 'v0.0.0-simulated'),
    getDescription: asks(() => `BIOSHAKE ${settings.model} (simulated)`),
    getSerial: asks(() => 'SIM-0001'),
    getErrorList: asks(() => `{${[...errors].join('; ')}}`),
    resetDevice: does(() => instrument.restartSoon()),
    enableBootScreen: does(() => stored.set('BootScreen', 1)),
    disableBootScreen: does(() => stored.set('BootScreen', 0)),
    getCLED: asks(() => stored.get('CLED') ?? 1),
    enableCLED: does(() => changeLeds(instrument, 1)),
    disableCLED: does(() => changeLeds(instrument, 0)),
    flashLed: does(() => {}),
    setBuzzer: sets([50, 999], () => {}),
    setEcoMode: { run: () => enterEco(instrument) },
    leaveEcoMode: { run: () => leaveEco(instrument) },
  }
}

function shaking(instrument: Instrument, rpm: { min: number; max: number }): Commands {
  const { motor, stored } = instrument
  const anySpeed = [0, rpm.max] as const
  return {
    setShakeTargetSpeed: { takes: anySpeed, run: (speed) => setSpeed(instrument, speed) },
    getShakeTargetSpeed: asks(() => motor.target),
    getShakeActualSpeed: asks(() => Math.round(motor.speed)),
    getShakeMinRpm: asks(() => rpm.min),
    getShakeMaxRpm: asks(() => rpm.max),
    ...keeps(stored, 'ShakeSpeedLimitMin', rpm.min, anySpeed),
    ...keeps(stored, 'ShakeSpeedLimitMax', rpm.max, anySpeed),
    setShakeAcceleration: sets([0, 99], (s) => {
      motor.acceleration_s = s
    }),
    getShakeAcceleration: asks(() => motor.acceleration_s),
    getShakeAccelerationMin: asks(() => 0),
    getShakeAccelerationMax: asks(() => 99),
    setShakeDirection: sets([0, 1], (direction) => {
      motor.direction = direction
    }),
    getShakeDirection: asks(() => motor.direction),
    ...keeps(stored, 'ShakeDefaultDirection', 0, [0, 1]),
    shakeOn: { run: () => start(instrument) },
    shakeOnWithRuntime: { takes: [0, 99_999], run: (runtime_s) => start(instrument, runtime_s) },
    getShakeRemainingTime: asks(() => Math.ceil(motor.remaining_s)),
    shakeOff: { run: () => stop(instrument, 'home') },
    shakeOffNonZeroPos: { run: () => stop(instrument, 'loose') },
    shakeOffWithDeenergizeSoleonid: { run: () => stop(instrument, 'release') },
    shakeEmergencyOff: does(() => emergency(instrument)),
    shakeGoHome: { run: (_, answer) => goHome(instrument, answer) },
    getShakeState: asks(() => motor.code),
    getShakeStateAsString: asks(() => motor.word),
    getShakeZPV: asks(() => (motor.phase === 'home' ? 1 : 0)),
  }
}

function warming(instrument: Instrument): Commands {
  const { heater, stored } = instrument
  return {
    tempOn: { run: () => (instrument.canHeat() ? ok(heater.set({ on: true })) : 'e') },
    tempOff: does(() => heater.set({ on: false })),
    getTempState: asks(() => (heater.on ? 1 : 0)),
    getTempStateAsString: asks(() => (heater.on ? 'on' : 'off')),
    setTempTarget: sets([0, 990], (tenths) => heater.set({ target: tenths / 10 })),
    getTempTarget: asks(() => heater.target.toFixed(1)),
    getTempActual: asks(() => heater.temperature.toFixed(1)),
    getTempMin: asks(() => '0.0'),
    getTempMax: asks(() => '99.0'),
    ...keeps(stored, 'TempLimiterMin', 0, [-200, 999], degrees),
    ...keeps(stored, 'TempLimiterMax', 990, [-200, 999], degrees),
    ...keeps(stored, 'Temp40Calibr', 400, [0, 990], degrees),
    ...keeps(stored, 'Temp90Calibr', 900, [0, 990], degrees),
  }
}

function lockingPlates(instrument: Instrument): Commands {
  const { lock, motor, stored } = instrument
  return {
    setElmLockPos: { run: (_, answer) => moveLock(instrument, 'locked', answer) },
    setElmUnlockPos: { run: (_, answer) => (motor.phase === 'home' ? moveLock(instrument, 'unlocked', answer) : 'e') },
    getElmState: asks(() => lock.code),
    getElmStateAsString: asks(() => lock.word),
    ...keeps(stored, 'ElmSelftest', 0, [0, 1]),
    ...keeps(stored, 'ElmStartupPosition', 1, [0, 1]),
  }
}

function changeLeds({ stored, restartSoon }: Instrument, on: number): void {
  stored.set('CLED', on)
  restartSoon()
}

/** Enters ECO mode: the solenoid of the home position is off, the plate locked. */
function enterEco({ motor, lock }: Instrument): string {
  if (motor.moving || lock.state === 'moving') return 'e'
  motor.halt('eco')
  lock.halt('locked')
  return 'ok'
}

/** Leaves ECO mode, which homes the table. */
function leaveEco({ motor, recovered }: Instrument): string {
  if (motor.phase === 'eco') motor.goHome(recovered)
  return 'ok'
}

function setSpeed({ motor, stored }: Instrument, speed: number): string {
  if (speed > (stored.get('ShakeSpeedLimitMax') ?? speed)) return 'e'
  return ok(motor.setTarget(speed))
}

function start({ motor, lock, model, canMove }: Instrument, runtime_s?: number): string {
  if (!canMove() || motor.target === 0 || (model.locking && lock.state !== 'locked')) return 'e'
  return ok(motor.start(runtime_s))
}

function stop({ motor, canMove }: Instrument, ending: Ending): string {
  return canMove() ? ok(motor.stop(ending)) : 'e'
}

function emergency({ motor, lock }: Instrument): void {
  if (lock.state === 'moving') lock.halt('nowhere')
  motor.emergency()
}

function goHome({ motor, canMove, recovered }: Instrument, answer: Respond): string | undefined {
  if (!canMove()) return 'e'
  motor.goHome(() => {
    recovered()
    answer('ok')
  })
  return undefined
}

function moveLock({ motor, lock, canMove, recovered }: Instrument, to: 'locked' | 'unlocked', answer: Respond): string | undefined {
  if (!canMove() || motor.moving) return 'e'
  lock.move(to, () => {
    recovered()
    answer('ok')
  })
  return undefined
}

/** Makes the command for a setting that survives a restart. */
function keeps(
  stored: Map<string, number>,
  name: string,
  initial: number,
  takes: readonly [number, number],
  show: (value: number) => string = String,
): Commands {
  return {
    [`set${name}`]: sets(takes, (value) => stored.set(name, value)),
    [`get${name}`]: asks(() => show(stored.get(name) ?? initial)),
  }
}

/** Makes a command that only answers. */
function asks(tell: () => string | number): Command {
  return { run: () => String(tell()) }
}

/** Makes a command that is always carried out. */
function does(act: () => unknown): Command {
  return { run: () => ok(act()) }
}

/** Makes a command with a number that is always carried out. */
function sets(takes: readonly [number, number], act: (value: number) => unknown): Command {
  return { takes, run: (value) => ok(act(value)) }
}

function ok(_done: unknown): string {
  return 'ok'
}

function degrees(tenths: number): string {
  return (tenths / 10).toFixed(1)
}
