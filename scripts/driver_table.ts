// The tables of drivers in the READMEs, made from their catalogue.

import { fileURLToPath } from 'node:url'
import * as v from 'valibot'
import { type AnyDriver, isOnPins, serialOf } from '../drivers/driver.ts'
import { type DriverName, driverNames, drivers } from '../drivers/index.ts'
import { simulatedBoard } from '../drivers/transports/simulated_board.ts'
import { simulatedLine } from '../drivers/transports/simulated_line.ts'
import { readTrial, type TrialFile, triedOn } from '../src/conformance/trial_file.ts'
import type { Device } from '../src/devices/device.ts'
import { operations } from '../src/devices/operations.ts'
import { readings } from '../src/devices/reading_table.ts'
import { VirtualClock } from '../src/kit/clock.ts'
import { namesIn } from '../src/kit/files.ts'

/** How a table tells of a driver: `folder` is where its README lies. */
type Row = (about: { name: DriverName; type: string; instrument: string; folder: string; operations: string; tried: string }) => string

/** The tables, by the document that has them: the README at the top names the instruments, that of the drivers says what each can do. */
const tables: Record<string, { head: string; row: Row; others: string[] }> = {
  'README.md': {
    head: '| | instrument | driver | tried on |\n|---|---|---|---|',
    row: ({ name, type, instrument, folder, tried }) =>
      `| ${type} | ${instrument} | [\`${name}\`](drivers/${folder}/README.md) |${tried} |`,
    others: [
      '| transporter | a person at the bench, who carries labware by hand | [`person`](drivers/person/README.md) | |',
      '| arm | any robot that another program drives; benchd keeps its teachpoints | `external` | |',
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
  const rows = await Promise.all(driverNames.map(async (name) => row(await aboutOf(name, await drivers[name]()))))
  const table = [head, ...rows, ...others].join('\n')
  return document.replace(/(<!-- drivers -->).*(<!-- \/drivers -->)/s, (_, begin, end) => `${begin}\n\n${table}\n\n${end}`)
}

async function aboutOf(name: DriverName, driver: AnyDriver): Promise<Parameters<Row>[0]> {
  const { instrument, operations: dependence, folder = name } = driver.about
  const device = deviceOf(driver)
  const offered = [...Object.keys(operations), ...Object.keys(readings)].filter((name) => name !== 'initialize')
  const names = offered.filter((name) => device[name as keyof Device] !== undefined)
  const can = names.length ? ` \`${names.join(' ')}\`${dependence ? `, ${dependence}` : ''}` : ''
  const tried = triedOn((await trialsIn(folder)).filter(({ trial }) => trial.device.driver === name))
  return { name, type: driver.type, instrument, folder, operations: can, tried: tried && ` ${tried}` }
}

/** Reads the files of trials that a maintainer took in. */
async function trialsIn(folder: string): Promise<TrialFile[]> {
  const path = fileURLToPath(new URL(`../../drivers/${folder}/trials`, import.meta.url))
  const names = (await namesIn(path)).filter((name) => name.endsWith('.json'))
  return Promise.all(names.map((name) => readTrial(`${path}/${name}`)))
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
