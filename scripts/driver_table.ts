// The README's table of drivers, made from their catalogue.

import * as v from 'valibot'
import { type AnyDriver, isOnPins } from '../drivers/driver.ts'
import { type DriverName, driverNames, drivers } from '../drivers/index.ts'
import { simulatedBoard } from '../drivers/transports/simulated_board.ts'
import { simulatedLine } from '../drivers/transports/simulated_line.ts'
import type { Device } from '../src/devices/device.ts'
import { operations, readings } from '../src/devices/operations.ts'
import { VirtualClock } from '../src/kit/clock.ts'

/** Replaces the table between the two marks of a document. */
export async function withDrivers(document: string): Promise<string> {
  const table = await driverTable()
  return document.replace(/(<!-- drivers -->).*(<!-- \/drivers -->)/s, (_, begin, end) => `${begin}\n\n${table}\n\n${end}`)
}

async function driverTable(): Promise<string> {
  const head = ['| driver | type | instrument | operations besides `initialize` and `stop` |', '|---|---|---|---|']
  const rows = await Promise.all(driverNames.map(async (name) => rowOf(name, await drivers[name]())))
  const external = '| `external` | transporter | a robot that is driven elsewhere: it holds teachpoints | |'
  return [...head, ...rows, external].join('\n')
}

function rowOf(name: DriverName, driver: AnyDriver): string {
  const { instrument, operations: dependence, folder = name } = driver.about
  const device = deviceOf(driver)
  const names = [...Object.keys(operations), ...Object.keys(readings)].filter((name) => name !== 'initialize' && name in device)
  const can = names.length ? ` \`${names.join(' ')}\`${dependence ? `, ${dependence}` : ''}` : ''
  return `| [\`${name}\`](drivers/${folder}/README.md) | ${driver.type} | ${instrument} |${can} |`
}

/** Opens the driver with its default settings, on a simulation that nobody asks anything. */
function deviceOf(driver: AnyDriver): Device {
  const clock = new VirtualClock()
  const settings = v.parse(driver.settings, {})
  if (!isOnPins(driver)) {
    const line = simulatedLine({ simulate: driver.simulate, settings, serial: driver.serial, clock, wire: clock })
    return driver.open({ line, clock, settings })
  }
  const board = simulatedBoard({ simulate: driver.simulate, plan: driver.plan(settings), settings, clock, wire: clock })
  return driver.open({ board, clock, settings })
}
