// Gives each package below FOLDER/node_modules a file with its licence, where the package has it in its README alone.
//
//   put-licences.mjs FOLDER
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { licenceFile, licenceOf, packagesBelow } from '../licences.mjs'

for (const folder of packagesBelow(process.argv[2])) if (!licenceFile(folder)) writeFileSync(join(folder, 'LICENSE'), licenceOf(folder))
