// Prints the folders of the npm packages that only the coordinator of a lab needs, and of those that these need in turn.
import { readFileSync } from 'node:fs'
import { ofCoordinator } from '../of_coordinator.mjs'

const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8'))
const found = new Set()

/** The package as Node finds it from the folder of another. */
function folderOf(name, from) {
  for (let at = from; ; at = at.slice(0, Math.max(0, at.lastIndexOf('/node_modules/')))) {
    const folder = `${at && `${at}/`}node_modules/${name}`
    if (packages[folder]) return folder
    if (!at) return undefined
  }
}

function add(folder) {
  if (folder === undefined || found.has(folder)) return
  found.add(folder)
  const { dependencies, optionalDependencies } = packages[folder]
  for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) add(folderOf(name, folder))
}

for (const name of ofCoordinator) add(folderOf(name, ''))
// Those that the service needs too come with its own package.
console.log(
  [...found]
    .filter((folder) => packages[folder].dev)
    .sort()
    .join('\n'),
)
