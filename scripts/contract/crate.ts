// Judges an exported run with the validator of the npm package `ro-crate`, which others use, beside the MUSTs in src/testing/ro_crate.ts. `node dist/scripts/contract/crate.js FOLDER`,
// where FOLDER is the prefix that npm installed the package into. Prints `N passed, N failed`.

import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { readText } from '../../src/kit/files.ts'
import { removeFolder } from '../../src/kit/folder.ts'
import { namesBelow } from '../../src/kit/new_folder.ts'
import { exportedFolder } from '../../src/testing/exported_run.ts'
import { crateFaults } from '../../src/testing/ro_crate.ts'

type Finding = { message: string }
type Validator = {
  result: { errors: Finding[]; warnings: Finding[] }
  parseJSON(json: string): void
  validate(): Promise<unknown>
  checkFiles(files: Record<string, object>): void
}

const require = createRequire(join(process.argv[2] ?? '.', 'node_modules', 'x.js'))
// The validator fetches the context by its address; a check needs no network, and takes the copy in the package.
globalThis.fetch = async () => Response.json(require('ro-crate/lib/context.json'))
const { Validator } = require('ro-crate/lib/validator.js') as { Validator: new () => Validator }

const folder = await exportedFolder()
try {
  const validator = new Validator()
  validator.parseJSON(await readText(join(folder, 'ro-crate-metadata.json')))
  await validator.validate()
  validator.checkFiles(Object.fromEntries((await namesBelow(folder)).map((name) => [name, { exists: true, inCrate: false, isDir: false }])))
  const { errors, warnings } = validator.result
  const faults = [...errors, ...warnings].map(({ message }) => message).concat(await crateFaults(folder))
  for (const fault of faults) console.log(`FAILED  ${fault}`)
  console.log(faults.length === 0 ? '1 passed, 0 failed' : '0 passed, 1 failed')
  process.exitCode = faults.length === 0 ? 0 : 1
} finally {
  await removeFolder(dirname(folder))
}
