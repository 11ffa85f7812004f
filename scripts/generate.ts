// Writes the files that are made from the tables: the OpenAPI document, and the schemas of the configuration, of topologies and workflows.

import { writeFile } from 'node:fs/promises'
import { openapi } from '../src/http/openapi.ts'
import { routes } from '../src/http/routes.ts'
import { configSchema } from './config_schema.ts'
import { topologySchema, workflowSchema } from './workflow_schemas.ts'

const top = new URL('../../', import.meta.url)

await write('src/http/openapi.json', openapi(routes))
await write('src/schemas/config.schema.json', await configSchema())
await write('src/schemas/topology.schema.json', topologySchema())
await write('src/schemas/workflow.schema.json', workflowSchema())

async function write(path: string, content: object): Promise<void> {
  await writeFile(new URL(path, top), `${JSON.stringify(content, null, 2)}\n`)
  console.log(path)
}
