// Sentences of the API name routes; at a shell they name commands.

import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { test } from 'tap'
import { atShell } from './at_shell.ts'

test('routes become commands, and paths below them stay', async (t) => {
  for (const [said, shown] of [
    ['there is no labware "x"; /api/labware shows what there is', 'there is no labware "x"; benchd labware list shows what there is'],
    ['there is no execution "x"; /api/executions shows what there is', 'there is no execution "x"; benchd runs list shows what there is'],
    ['no topology is loaded; load one of /api/topologies', 'no topology is loaded; load one of benchd topology list'],
    ['send POST /api/labware again', 'send POST /api/labware again'],
    ['see /api/devices/shaker-1', 'see /api/devices/shaker-1'],
    ['say where (PUT /api/labware/00587302-845d-4722-ae43-d8ec9b9c54b4/location)', 'say where (benchd labware put 00587302 PLACE)'],
    [
      'say so: PUT /api/labware/00587302-845d-4722-ae43-d8ec9b9c54b4/location {"position": null}',
      'say so: benchd labware put 00587302 --off',
    ],
    [
      'see /events?execution_id=x and /api/threads/00587302-845d-4722-ae43-d8ec9b9c54b4',
      'see /events?execution_id=x and /api/threads/00587302-845d-4722-ae43-d8ec9b9c54b4',
    ],
    ['the body: coords.yaw is missing', '--yaw is missing'],
    [
      'topology a is loaded; unload it first, or load b with force',
      'topology a is loaded; benchd topology unload, or benchd topology load b --force',
    ],
    ['armed: it pauses; stop it once more with confirm to abort it', 'armed: it pauses; stop it once more with --confirm to abort it'],
    ['the body.speed is missing', 'speed is missing'],
    ['the query: execution_id must not be empty', '--execution must not be empty'],
    ['there is no key of that key_id; the list of keys tells which there are', 'there is no key of that key_id; see: benchd key list'],
    [
      'no step x waits to be confirmed; it was confirmed, or its time is over',
      'no step x waits to be confirmed; it was confirmed, or its time is over; see: benchd runs steps',
    ],
    [
      'there is nothing at /api/lab/journeys/x/why; /docs shows what there is',
      'no coordinator of a lab answers there, but a bench; name the address of the coordinator by --url',
    ],
    [
      'there is nothing at /api/devices of the coordinator; /docs shows what there is',
      'that is the address of the coordinator of a lab, and the command is for a bench; name the address of a bench by --url',
    ],
    ['there is nothing at /api/devices; /docs shows what there is', 'there is nothing at /api/devices; /docs shows what there is'],
    ['read the one at pad_1, and say what was read as "barcode"', 'read the one at pad_1, and add what was read as --barcode TEXT'],
    ['prep: read it, and say what was read as "barcode"', 'prep: read it, and add the barcode that was read'],
    ['the body says either before or after which step the item comes', 'say where the step comes: --before ITEM or --after ITEM'],
    ['end the lease: DELETE /api/devices/shaker-1/lock with X-Override: true', 'end the lease: benchd devices unlock shaker-1 --override'],
    ['then POST /api/devices/shaker-1/initialize', 'then benchd devices init shaker-1'],
  ] as const)
    t.equal(atShell(said), shown)
})

test('no sentence about runs and labware names a command: it would be one for the API, too', async (t) => {
  const folder = fileURLToPath(new URL('../../../src/workflow/', import.meta.url))
  const sources = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => /(?<!\.test)\.ts$/.test(name))
  t.ok(sources.length > 50)
  const command = /^(?!\s*(\/\/|\*|\/\*)).*\bbenchd (labware|runs|devices|incidents|topology)\b/m
  t.same(
    sources.filter((name) => command.test(readFileSync(`${folder}${name}`, 'utf8'))),
    [],
  )
})
