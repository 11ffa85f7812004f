import { readFile } from 'node:fs/promises'
import { test } from 'tap'
import { driverNames } from '../drivers/index.ts'
import { documents, withDrivers } from './driver_table.ts'

test('the tables of drivers in the READMEs are those of the catalogue', async (t) => {
  for (const path of documents) {
    const readme = await readFile(new URL(`../../${path}`, import.meta.url), 'utf8')
    t.equal(await withDrivers(path, readme), readme, 'npm run generate writes it')
    for (const name of driverNames) t.match(readme, `[\`${name}\`](`)
  }
})
