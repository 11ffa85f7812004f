// `benchd replay`: runs a driver against a recorded wire log of `GET /api/devices/{id}/wire`.
//
// A wire log does not mark where an operation began, and contains other questions too, so each frame of the host is
// tried as the first.

import type { LineDriver } from '../../drivers/driver.ts'
import type { Recorded } from '../../drivers/transports/replayed_line.ts'
import { didYouMean } from '../kit/did_you_mean.ts'
import { command } from './command.ts'
import { driverNamed } from './driver_named.ts'
import { CliError } from './exit.ts'
import { print } from './table.ts'

type Start = {
  frames: readonly Recorded[]
  /** Whether the driver receives the unsolicited messages before the operation begins. */
  hears_first: boolean
}
type Tried = { shown: string[]; used: number; left: number; error: Error | undefined }

const replay = command({
  name: 'replay',
  summary: 'Replay a recorded wire log against a driver, and show the first difference',
  operands: ['FILE'],
  options: {
    driver: { type: 'string', value: 'DRIVER', help: 'Driver to run' },
    operation: { type: 'string', value: 'NAME', help: 'Recorded operation; default initialize' },
    params: { type: 'string', value: 'JSON', help: 'Parameters of the operation' },
    settings: { type: 'string', value: 'JSON', help: 'Settings of the driver, as in the configuration' },
    fault: { type: 'boolean', help: 'Use the messages before the fault, not the last ones' },
  },
  example: 'benchd replay wire.json --driver bioshake --operation lock_plate',
  async run({ options, operands: [file = ''] }) {
    const [{ Wire }, { checked }, { parseJson }, { readText }] = await Promise.all([
      import('../devices/wire_log.ts'),
      import('../kit/schema.ts'),
      import('../kit/json.ts'),
      import('../kit/files.ts'),
    ])
    const given = (name: 'params' | 'settings') => parseJson(options[name] ?? '{}', `--${name}`)
    const driver = await lineDriver(options.driver)
    const operation = options.operation ?? 'initialize'
    const schema = await paramsOf(operation)
    const params = checked(schema, given('params'), '--params')
    const settings = checked(driver.settings, given('settings'), '--settings')
    const { frames, fault_frames } = checked(Wire, parseJson(await readText(file), file), file)
    const recorded = (options.fault ? fault_frames : frames) ?? []
    if (!recorded.some(isOurs)) throw new CliError('failed', `${file} holds nothing that was said to the instrument${hint(options.fault)}`)
    const { shown, left, error } = await best(recorded, (start) => attempt({ driver, settings, operation, params }, start))
    const rest = `${left} recorded frames are left`
    if (options.json) print(JSON.stringify({ operation, frames: shown, left, error: error?.message ?? null }))
    else for (const line of shown) print(line)
    if (error) throw new CliError('failed', `${operation} failed: ${error.message}; ${rest}`, { cause: error })
    if (!options.json) print(`${operation} went as recorded; ${rest}`)
  },
})

export const commands = [replay]

async function lineDriver(name: string | undefined): Promise<LineDriver> {
  const driver = await driverNamed(name, { otherwise: 'usage' })
  const { isOnPins } = await import('../../drivers/driver.ts')
  if (isOnPins(driver)) throw new CliError('usage', `${name} is not on a serial line; there is nothing to replay`)
  if (driver.tcp?.further)
    throw new CliError('usage', `${name} speaks over several connections, which a wire log does not tell apart; it cannot be replayed`)
  return driver
}

async function paramsOf(operation: string) {
  const { operations } = await import('../devices/operations.ts')
  const names = Object.keys(operations).filter((name) => name !== 'stop')
  if (names.includes(operation)) return operations[operation as keyof typeof operations].params
  throw new CliError('usage', `there is no operation ${operation}${didYouMean(operation, names)}; there is: ${names.join(', ')}`)
}

function hint(fault: boolean | undefined): string {
  return fault ? ' before a fault; leave --fault out' : ''
}

function isOurs({ direction }: Recorded): boolean {
  return direction === 'to_device'
}

/** Returns the first attempt that matches the recording, else the one that got furthest. */
async function best(recorded: readonly Recorded[], run: (start: Start) => Promise<Tried>): Promise<Tried> {
  const tried: Tried[] = []
  for (const start of starts(recorded)) {
    const one = await run(start)
    if (!one.error) return one
    tried.push(one)
  }
  return tried.reduce((furthest, one) => (one.used > furthest.used ? one : furthest))
}

/** Lists the possible starts; those that wait for unsolicited messages first come last. */
function starts(recorded: readonly Recorded[]): Start[] {
  const ours = recorded.flatMap((frame, i) => (isOurs(frame) ? [i] : []))
  const heard = ours.filter((i) => i > 0 && !isOurs(recorded[i - 1]!))
  return [
    ...ours.map((i) => ({ frames: recorded.slice(i), hears_first: false })),
    ...[true, false].flatMap((hears_first) => heard.map((i) => ({ frames: recorded.slice(i - 1), hears_first }))),
  ]
}

async function attempt(
  { driver, settings, operation, params }: { driver: LineDriver; settings: unknown; operation: string; params: unknown },
  { frames, hears_first }: Start,
): Promise<Tried> {
  const [{ replayedLine }, { VirtualClock }] = await Promise.all([
    import('../../drivers/transports/replayed_line.ts'),
    import('../kit/clock.ts'),
  ])
  const clock = new VirtualClock()
  const line = replayedLine(frames, clock)
  const device = driver.open({ line, clock, settings })
  const operate = (device as Record<string, unknown>)[operation]
  if (typeof operate !== 'function') throw new CliError('usage', `a ${driver.type} of this driver cannot ${operation}`)
  const shown: string[] = []
  line.onWire((direction, bytes) => shown.push(`${direction === 'to_device' ? '>' : '<'} ${printable(bytes)}`))
  await line.open()
  if (hears_first) await clock.advance(0)
  const failed = await clock.run(operate.call(device, params, new AbortController().signal) as Promise<unknown>).then(
    () => undefined,
    (error: Error) => error,
  )
  const used = frames.length - line.left.length
  return { shown, used, left: line.left.length, error: line.differs ?? failed }
}

function printable(bytes: Uint8Array): string {
  return Buffer.from(bytes)
    .toString('latin1')
    .replace(/[^ -~]/g, '.')
}
