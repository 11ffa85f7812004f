// Tests the driver in a folder: by its own tests, and by the conformance suite.

import { join } from 'node:path'
import type { AnyDriver } from '../../drivers/driver.ts'
import { driverIn } from '../../drivers/outside.ts'
import { LabError } from '../errors.ts'
import { namesIn } from '../kit/files.ts'
import { loadExports } from '../kit/modules.ts'
import type { Test } from './assertions.ts'
import * as author from './author.ts'
import { type Outcome, runTest } from './runner.ts'
import { keepsPromises, settingsOf, takesAsDeclared, tellsErrors } from './suite.ts'

type Testing = { only?: string | undefined; ended(outcome: Outcome): void }

/** Runs all tests. `only` are words in the name of a test. Rejects with `invalid` for a driver that cannot be loaded. */
export async function testDriver(folder: string, { only, ended }: Testing): Promise<void> {
  const found = await driverIn(folder)
  if ('why' in found) throw new LabError('invalid', `the driver in ${folder} cannot be loaded: ${found.why}`)
  const { driver, name } = found
  const thrown: unknown[] = []
  const onThrown = (error: unknown) => void thrown.push(error)
  process.on('uncaughtException', onThrown)
  try {
    for (const { name: title, work } of [...(await ownTests(folder)), ...testsOf(driver, name)])
      if (only === undefined || title.includes(only)) await runTest(title, work, ended)
    await runTest(`${name} throws nothing where nobody waits for it`, (t) => throwsNothing(t, thrown), ended)
  } finally {
    process.removeListener('uncaughtException', onThrown)
  }
}

/** Fails for each error that was thrown in a timer, or that rejected a promise for which nobody waited. */
async function throwsNothing(t: Test, thrown: readonly unknown[]): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve))
  for (const error of new Set(thrown.map((one) => (one instanceof Error ? (one.stack ?? one.message) : String(one))))) t.fail(error)
  t.equal(thrown.length, 0, 'nothing was thrown')
}

type Work = Parameters<typeof runTest>[1]

function testsOf(driver: AnyDriver, name: string): { name: string; work: Work }[] {
  const duties = settingsOf(driver).map((settings) => ({
    name: `${name}${Object.keys(settings).length > 0 ? ` ${JSON.stringify(settings)}` : ''} keeps what every driver promises`,
    work: (t) => keepsPromises(t, driver, settings),
  })) satisfies { name: string; work: Work }[]
  return [
    { name: `${name} takes as long to initialize and to heat as it declares`, work: (t) => takesAsDeclared(t, driver) },
    { name: `${name} tells the errors of its instrument in words, with what to do`, work: (t) => tellsErrors(t, driver, name) },
    ...duties,
  ]
}

/** Loads the files of tests, and returns what they declare. */
async function ownTests(folder: string) {
  ;(globalThis as Record<symbol, unknown>)[Symbol.for('benchd/driver-test')] = author
  const files = (await namesIn(folder)).filter((name) => /\.test\.(ts|js|mjs)$/.test(name))
  for (const file of files) await loadExports(join(folder, file))
  return author.declaredTests()
}
