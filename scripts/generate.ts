// Writes the files that are made from the tables: the OpenAPI document and the schema of the configuration.

import { writeFile } from 'node:fs/promises'
import { openapi } from '../src/http/openapi.ts'
import { routes } from '../src/http/routes.ts'
import { configSchema } from './config_schema.ts'

const top = new URL('../../', import.meta.url)

await write('src/http/openapi.json', openapi(routes))
await write('src/schemas/config.schema.json', await configSchema())

async function write(path: string, content: object): Promise<void> {
  await writeFile(new URL(path, top), `${JSON.stringify(content, null, 2)}\n`)
  console.log(path)
}
