// `benchd replay`: a driver against what an instrument once said, as `GET /api/devices/{id}/wire` gives it.

import { command } from './command.ts'
import { CliError } from './exit.ts'

export const replay = command({
  name: 'replay',
  summary: 'Run an operation of a driver against a recorded wire log, and say where the driver says something else',
  operands: ['FILE'],
  options: {
    driver: { type: 'string', value: 'NAME', help: 'Driver to run' },
    operation: { type: 'string', value: 'NAME', help: 'What was done when it was recorded; default initialize' },
    params: { type: 'string', value: 'JSON', help: 'With which parameters' },
    settings: { type: 'string', value: 'JSON', help: "The driver's settings, as in the configuration" },
    fault: { type: 'boolean', help: 'Use the frames before the fault, not the last ones' },
  },
  example: 'benchd replay wire.json --driver bioshake --operation lock_plate',
  async run({ options, operands: [file = ''] }) {
    const [{ drivers, driverNames }, { replayedLine }, { VirtualClock }, { Wire }, { checked }, { parseJson }, { readText }] =
      await Promise.all([
        import('../../drivers/index.ts'),
        import('../../drivers/transports/replayed_line.ts'),
        import('../kit/clock.ts'),
        import('../devices/wire_log.ts'),
        import('../kit/schema.ts'),
        import('../kit/json.ts'),
        import('../kit/files.ts'),
      ])
    const name = options.driver ?? ''
    if (!(name in drivers)) throw new CliError('usage', `--driver ${name} is none; there is: ${driverNames.join(', ')}`)
    const driver = await drivers[name as keyof typeof drivers]()
    if (!('serial' in driver)) throw new CliError('usage', `${name} is not on a serial line; there is nothing to replay`)
    const { frames, fault_frames } = checked(Wire, parseJson(await readText(file), file), file)
    const recorded = (options.fault ? fault_frames : frames) ?? []
    const clock = new VirtualClock()
    const line = replayedLine(recorded, clock)
    const settings = checked(driver.settings, parseJson(options.settings ?? '{}', '--settings'), '--settings')
    const device = driver.open({ line, clock, settings })
    const operation = options.operation ?? 'initialize'
    const operate = (device as Record<string, unknown>)[operation]
    if (typeof operate !== 'function') throw new CliError('usage', `${name} cannot ${operation}`)
    line.onWire((direction, bytes) =>
      print(
        `${direction === 'to_device' ? '>' : '<'} ${Buffer.from(bytes)
          .toString('latin1')
          .replace(/[^ -~]/g, '.')}`,
      ),
    )
    await line.open()
    const params = parseJson(options.params ?? '{}', '--params')
    try {
      await clock.run(operate.call(device, params, new AbortController().signal) as Promise<unknown>)
    } catch (error) {
      throw new CliError('failed', `${operation} failed: ${(error as Error).message}; ${line.left.length} recorded frames are left`, {
        cause: error,
      })
    }
    print(`${operation} went as recorded; ${line.left.length} recorded frames are left`)
    return 0
  },
})

function print(text: string): void {
  process.stdout.write(`${text}\n`)
}
