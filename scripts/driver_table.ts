// The tables of drivers in the READMEs, made from their catalogue.

import * as v from 'valibot'
import { type AnyDriver, isOnPins, serialOf } from '../drivers/driver.ts'
import { type DriverName, driverNames, drivers } from '../drivers/index.ts'
import { simulatedBoard } from '../drivers/transports/simulated_board.ts'
import { simulatedLine } from '../drivers/transports/simulated_line.ts'
import type { Device } from '../src/devices/device.ts'
import { operations } from '../src/devices/operations.ts'
import { readings } from '../src/devices/reading_table.ts'
import { VirtualClock } from '../src/kit/clock.ts'

/** How a table tells of a driver: `folder` is where its README lies. */
type Row = (about: { name: DriverName; type: string; instrument: string; folder: string; operations: string }) => string

/** The tables, by the document that has them: the README at the top names the instruments, that of the drivers says what each can do. */
const tables: Record<string, { head: string; row: Row; others: string[] }> = {
  'README.md': {
    head: '| | instrument | driver |\n|---|---|---|',
    row: ({ name, type, instrument, folder }) => `| ${type} | ${instrument} | [\`${name}\`](drivers/${folder}/README.md) |`,
    others: [
      '| transporter | a person at the bench, who carries labware by hand | [`person`](drivers/person/README.md) |',
      '| arm | any robot that another program drives; benchd keeps its teachpoints | `external` |',
    ],
  },
  'drivers/README.md': {
    head: '| driver | type | instrument | operations besides `initialize` and `stop` |\n|---|---|---|---|',
    row: ({ name, type, instrument, folder, operations }) =>
      `| [\`${name}\`](${folder}/README.md) | ${type} | ${instrument} |${operations} |`,
    others: [
      '| [`person`](person/README.md) | transporter | a person at the bench, who carries labware by hand | |',
      '| `external` | transporter | a robot that is driven elsewhere: it holds teachpoints | |',
    ],
  },
}

export const documents = Object.keys(tables)

/** Replaces the table between the two marks of one of the `documents`. */
export async function withDrivers(path: string, document: string): Promise<string> {
  const { head, row, others } = tables[path]!
  const rows = await Promise.all(driverNames.map(async (name) => row(aboutOf(name, await drivers[name]()))))
  const table = [head, ...rows, ...others].join('\n')
  return document.replace(/(<!-- drivers -->).*(<!-- \/drivers -->)/s, (_, begin, end) => `${begin}\n\n${table}\n\n${end}`)
}

function aboutOf(name: DriverName, driver: AnyDriver): Parameters<Row>[0] {
  const { instrument, operations: dependence, folder = name } = driver.about
  const device = deviceOf(driver)
  const offered = [...Object.keys(operations), ...Object.keys(readings)].filter((name) => name !== 'initialize')
  const names = offered.filter((name) => device[name as keyof Device] !== undefined)
  const can = names.length ? ` \`${names.join(' ')}\`${dependence ? `, ${dependence}` : ''}` : ''
  return { name, type: driver.type, instrument, folder, operations: can }
}

/** Opens the driver with its default settings, on a simulation that nobody asks anything. */
function deviceOf(driver: AnyDriver): Device {
  const clock = new VirtualClock()
  const settings = v.parse(driver.settings, {})
  if (!isOnPins(driver)) {
    const line = simulatedLine({ ...driver, serial: serialOf(driver, settings), settings, clock, wire: clock })
    return driver.open({ line, clock, settings })
  }
  const board = simulatedBoard({ simulate: driver.simulate, plan: driver.plan(settings), settings, clock, wire: clock })
  return driver.open({ board, clock, settings })
}
