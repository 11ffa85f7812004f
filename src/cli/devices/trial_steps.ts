// The steps of a trial: each operation, wrong values, halts, a missing plate, a pulled cable, and a loss of power.

import type { LineDriver } from '../../../drivers/driver.ts'
import type { TriedProfile } from '../../conformance/trials.ts'
import type { OwnOperation } from '../../devices/description.ts'
import { TrialEnded } from './trial_person.ts'
import type { TrialRun } from './trial_run.ts'

/** Operations at which labware is in place. */
const ofLabware: ReadonlySet<string> = new Set(['shake', 'seal', 'peel', 'centrifuge', 'store', 'retrieve', 'scan', 'run_profile'])
/** The seconds within which the bench notices a pulled cable, and hears a device again. */
const noticed_s = 60

type Trying = { run: TrialRun; driver: LineDriver; profile: TriedProfile; names: readonly string[] }

/** Leads a person through all steps. Returns the name of the step at which the person ended the trial; null if none. */
export async function trialSteps(run: TrialRun, driver: LineDriver): Promise<string | null> {
  let now = 'the beginning'
  const at = (name: string) => {
    now = name
  }
  try {
    const trying = await prepared(run, driver)
    at('safety')
    run.person.say(
      `This takes about 20 minutes. ${run.device_id} will move, and may heat. Ctrl-C halts it and ends the trial at any moment.`,
    )
    const safe = await run.person.ask('Is the place around it clear, a plate in it that may be lost, and your hand on its red button?')
    run.note({ name: 'safety' }, Date.now(), { isWell: true, answer: safe })
    if (safe.is !== 'yes') return now
    for (const [name, step] of stepsOf(trying)) {
      at(name)
      await step()
    }
    return null
  } catch (error) {
    if (error instanceof TrialEnded) return now
    throw error
  }
}

async function prepared(run: TrialRun, driver: LineDriver): Promise<Trying> {
  const { limits } = await run.capabilities()
  const { onSimulator } = await import('../../conformance/on_simulator.ts')
  const { namesOn, onlyReads } = await import('../../conformance/trials.ts')
  const { device, line } = await onSimulator(driver, run.settings)
  line.simulator.powerOff()
  const profile = { ...driver.profile(run.settings), limits, own: device.described?.operations }
  const names = namesOn(device).filter((name) => name !== 'initialize')
  return { run, driver, profile: onlyReads(device) ? { ...profile, features: { ...profile.features, motionless: true } } : profile, names }
}

type Named = [name: string, step: () => Promise<void>]

function stepsOf(trying: Trying): Named[] {
  const { run, profile, names } = trying
  const moves = profile.features.motionless ? [] : names
  return [
    ['identity', () => identity(run)],
    ['initialize', () => operation(trying, 'initialize')],
    ...names.map((name): Named => [name, () => operation(trying, name)]),
    ...names.map((name): Named => [`wrong values of ${name}`, () => wrongValues(trying, name)]),
    ...moves.map((name): Named => [`halt during ${name}`, () => halted(trying, name)]),
    ...names
      .filter((name) => isOfLabware(trying, name))
      .map((name): Named => [`${name} without a plate`, () => withoutPlate(trying, name)]),
    ['unplugged', () => lost(trying, 'unplugged')],
    ['power loss', () => lost(trying, 'power loss')],
  ]
}

function isOfLabware({ profile }: Trying, name: string): boolean {
  return ofLabware.has(name) || (profile.own?.get(name)?.labware_sites ?? 0) > 0
}

async function identity(run: TrialRun): Promise<void> {
  const began = Date.now()
  const { identity: its } = await run.info()
  const words = [its?.model, its?.serial_number, its?.firmware_version].map((one) => one ?? '-').join(', ')
  const answer = await run.person.ask(`It says that it is: ${words}. Is that right?`)
  run.note({ name: 'identity', said: words }, began, { isWell: true, answer })
}

/** Does what prepares an operation, and the operation. */
async function begun({ run, profile, names }: Trying, name: string, params: object) {
  const { preparing, paramsOf } = await import('../../conformance/trials.ts')
  for (const first of preparing(name, (one) => names.includes(one))) await run.perform(first, paramsOf(first, profile))
  return run.perform(name, params)
}

async function operation(trying: Trying, name: string): Promise<void> {
  const { run, driver, profile } = trying
  const { paramsOf } = await import('../../conformance/trials.ts')
  const params = name === 'initialize' ? {} : paramsOf(name, profile)
  const began = Date.now()
  const first = run.wire.length
  run.person.say(`${name} ${JSON.stringify(params)} begins.`)
  const { success, said } = await begun(trying, name, params)
  const answer = await run.person.ask(`${said}. Did it do that?`)
  const { formsOf, formsOfSimulator } = await import('../../conformance/simulated_wire.ts')
  const known = await formsOfSimulator(driver, run.settings, name, params)
  const heard = run.wire.slice(first).filter(({ direction }) => direction === 'to_host')
  const forms = new Set(heard.flatMap(({ hex }) => formsOf(Buffer.from(hex, 'hex').toString('latin1'))))
  const unlike_simulator = [...forms].filter((form) => !known.has(form)).slice(0, 20)
  run.note({ name, operation: name, params: { ...params }, said, unlike_simulator }, began, { isWell: success, answer })
}

async function wrongValues({ run, profile }: Trying, name: string): Promise<void> {
  const { paramsOf } = await import('../../conformance/trials.ts')
  const params = paramsOf(name, profile)
  for (const [param, value] of Object.entries(params)) {
    const most = mostOf(profile, profile.own?.get(name), param)
    if (typeof value !== 'number' || most === undefined) continue
    const began = Date.now()
    const wrong = { ...params, [param]: most * 2 + 1 }
    const { success, said } = await run.perform(name, wrong)
    run.note({ name: `${name} refuses ${param} ${most * 2 + 1}`, operation: name, params: wrong, said }, began, { isWell: !success })
  }
}

/** Returns the largest value of a parameter; undefined without one. */
function mostOf({ limits }: TriedProfile, own: OwnOperation | undefined, param: string): number | undefined {
  if (!own) return limits[param]?.max
  const { properties = {} } = own.schema as { properties?: Record<string, { maximum?: number }> }
  return properties[param]?.maximum
}

async function halted(trying: Trying, name: string): Promise<void> {
  const { run, profile } = trying
  const { longer, takesTime } = await import('../../conformance/trials.ts')
  if (!takesTime(name, profile)) return
  const began = Date.now()
  run.person.say(`${name} begins, and is halted in the middle.`)
  const performing = begun(trying, name, longer(name, profile, 120))
  await inTheMiddle(run)
  const { success, said } = await run.halt()
  await performing
  const answer = await run.person.ask(`${said}. Did it stop at once, and does it stand still?`)
  run.note({ name: `halt during ${name}`, operation: name, said }, began, { isWell: success, answer })
  await run.perform('initialize')
}

/** Waits until an operation is under way, and has begun to move. */
async function inTheMiddle(run: TrialRun): Promise<void> {
  await run.until(({ state }) => state === 'busy', 10)
  await run.during(new Promise((resolve) => setTimeout(resolve, 2000)))
}

async function withoutPlate(trying: Trying, name: string): Promise<void> {
  const { run, profile } = trying
  const { paramsOf } = await import('../../conformance/trials.ts')
  if (await run.person.enter(`Take the plate away for ${name}`)) return run.skipped(`${name} without a plate`)
  const began = Date.now()
  const params = paramsOf(name, profile)
  const { said } = await begun(trying, name, params)
  const answer = await run.person.ask(`${said}. Is that right without a plate?`)
  run.note({ name: `${name} without a plate`, operation: name, params, said }, began, { isWell: true, answer })
  await run.person.enter('Put the plate back')
  await run.perform('initialize')
}

const losses = {
  unplugged: { away: 'Pull the cable of its port now', back: 'Plug the cable in again' },
  'power loss': { away: 'Switch its power off now, and on again', back: 'Wait until it is ready' },
} as const

/** Loses the instrument in the middle of its longest operation: the bench has to say so, and to halt it when it is back. */
async function lost(trying: Trying, which: keyof typeof losses): Promise<void> {
  const { run, driver, profile, names } = trying
  const { longer, takesTime } = await import('../../conformance/trials.ts')
  const name = names.find((one) => one === driver.trial?.operation) ?? names.find((one) => takesTime(one, profile)) ?? names[0]
  if (name === undefined) return
  const began = Date.now()
  const performing = begun(trying, name, longer(name, profile, 600))
  await inTheMiddle(run)
  if (await run.person.enter(losses[which].away)) {
    await run.halt()
    await performing
    run.skipped(which)
    await run.perform('initialize')
    return
  }
  const isNoticed = await run.until(({ state, fault }) => state !== 'busy' && fault !== null, noticed_s)
  const said = (await run.info()).fault?.error ?? 'the bench noticed nothing'
  await run.person.enter(losses[which].back)
  if (!isNoticed) await run.halt()
  await performing
  const isHalted = await run.until(({ fault, state }) => state !== 'disconnected' && fault?.may_still_be_moving !== true, noticed_s)
  const answer = await run.person.ask(`${said}. Does it stand still, and is it cold?`)
  const mustShow = which === 'unplugged' || driver.trial?.shows_restart !== false
  run.note({ name: which, operation: name, said }, began, { isWell: (isNoticed || !mustShow) && isHalted, answer })
  await operation(trying, 'initialize')
}
