import { readFile } from 'node:fs/promises'
import { test } from 'tap'
import { driverNames } from '../drivers/index.ts'
import { withDrivers } from './driver_table.ts'

const readme = await readFile(new URL('../../README.md', import.meta.url), 'utf8')

test('the table of drivers in the README is that of the catalogue', async (t) => {
  t.equal(await withDrivers(readme), readme, 'npm run generate writes it')
  for (const name of driverNames) t.match(readme, `| [\`${name}\`](drivers/`)
})
