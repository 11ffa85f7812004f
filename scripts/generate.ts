// Writes what is made from the tables: the OpenAPI document, the overview of the commands and the guide to them, the types of the clients, the schemas of
// the configuration, of topologies and workflows, the diagrams, the READMEs' tables of drivers.

import { readFile, writeFile } from 'node:fs/promises'
import { table } from '../src/cli/commands.ts'
import { overviewOf } from '../src/cli/help.ts'
import { labOpenapi } from '../src/coordinator/openapi.ts'
import { openapi } from '../src/http/openapi.ts'
import { routes } from '../src/http/routes.ts'
import { withDiagrams } from '../src/workflow/diagrams.ts'
import { withOperations } from './clients/python.ts'
import { type Document, typescriptClient } from './clients/typescript.ts'
import { commandsGuide } from './commands_guide.ts'
import { configSchema } from './config_schema.ts'
import { documents, withDrivers } from './driver_table.ts'
import { type Schema, settingsGuide } from './settings_guide.ts'
import { topologySchema, workflowSchema } from './workflow_schemas.ts'

const top = new URL('../..', import.meta.url)

const document = openapi(routes)
await write('src/http/openapi.json', document)
await write('src/http/openapi-lab.json', labOpenapi())
await writeText('src/cli/help.txt', overviewOf(await table()))
await writeText('src/clients/ts/api.ts', typescriptClient(document as unknown as Document))
const python = 'src/clients/python/benchd.py'
await writeText(python, withOperations(await readFile(new URL(python, top), 'utf8'), document as unknown as Document))
const config = await configSchema()
await write('src/schemas/config.schema.json', config)
await writeText('systemd/settings.md', settingsGuide(config as Schema))
await write('src/schemas/topology.schema.json', topologySchema())
await write('src/schemas/workflow.schema.json', workflowSchema())
await writeText('src/workflow/README.md', withDiagrams(await readFile(new URL('src/workflow/README.md', top), 'utf8')))
for (const path of documents) await writeText(path, await withDrivers(path, await readFile(new URL(path, top), 'utf8')))
await writeText('src/cli/README.md', commandsGuide(await table()))

async function write(path: string, content: object): Promise<void> {
  await writeText(path, `${JSON.stringify(content, null, 2)}\n`)
}

async function writeText(path: string, text: string): Promise<void> {
  await writeFile(new URL(path, top), text)
  console.log(path)
}
