// The process that `versions_kill.long.test.ts` kills: it puts one document after the other, and says on stdout what was acknowledged.
//
//   node versions_kill.test.writer.js FOLDER FIRST    FIRST is the number in the first document

import { openCatalog, put } from './versions_kill.test.catalog.ts'

const [folder = '', first = '1'] = process.argv.slice(2)
const catalog = await openCatalog(folder, (message) => process.stderr.write(`${message}\n`))
console.log('opening')
for (let number = Number(first); ; number++) {
  await put(catalog, number)
  console.log(number)
}
