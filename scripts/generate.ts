// Writes what is made from the tables: the OpenAPI document, the schemas of the configuration, of topologies and workflows, the diagrams,
// the README's table of drivers.

import { readFile, writeFile } from 'node:fs/promises'
import { openapi } from '../src/http/openapi.ts'
import { routes } from '../src/http/routes.ts'
import { withDiagrams } from '../src/workflow/diagrams.ts'
import { configSchema } from './config_schema.ts'
import { withDrivers } from './driver_table.ts'
import { topologySchema, workflowSchema } from './workflow_schemas.ts'

const top = new URL('../..', import.meta.url)

await write('src/http/openapi.json', openapi(routes))
await write('src/schemas/config.schema.json', await configSchema())
await write('src/schemas/topology.schema.json', topologySchema())
await write('src/schemas/workflow.schema.json', workflowSchema())
await writeText('src/workflow/README.md', withDiagrams(await readFile(new URL('src/workflow/README.md', top), 'utf8')))
await writeText('README.md', await withDrivers(await readFile(new URL('README.md', top), 'utf8')))

async function write(path: string, content: object): Promise<void> {
  await writeText(path, `${JSON.stringify(content, null, 2)}\n`)
}

async function writeText(path: string, text: string): Promise<void> {
  await writeFile(new URL(path, top), text)
  console.log(path)
}
