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
      'no step x waits for a confirmation: it was confirmed, or it timed out',
      'no step x waits for a confirmation: it was confirmed, or it timed out; see: benchd runs steps',
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
    ['read the barcode at pad_1, and say what was read as "barcode"', 'read the barcode at pad_1, and add what was read as --barcode TEXT'],
    ['prep: read it, and say what was read as "barcode"', 'prep: read it, and add the barcode that was read'],
    ['the body says either before or after which step the item comes', 'say where the step comes: --before ITEM or --after ITEM'],
    ['end the lease: DELETE /api/devices/shaker-1/lock with X-Override: true', 'end the lease: benchd devices unlock shaker-1 --override'],
    ['then POST /api/devices/shaker-1/initialize', 'then benchd devices init shaker-1'],
    ['a file that was added is read by POST /api/system/reload', 'a file that was added is read by benchd config reload'],
    ['accept that: POST /api/devices/reader-1/accept, then initialize', 'accept that: benchd devices accept reader-1, then initialize'],
    [
      'arm-1 was not taught a, b/site-2 (teach them: POST /api/teachpoints/bulk); arm-2 was not taught c (teach them: POST /api/teachpoints/bulk)',
      'arm-1 was not taught a, b/site-2 (benchd teachpoints import arm-1 FILE); arm-2 was not taught c (benchd teachpoints import arm-2 FILE)',
    ],
    ['there are no GPIO pins here; GET /api/system/doctor says what to do', 'there are no GPIO pins here; benchd doctor says what to do'],
    [
      'no topology is loaded on prep; load one on that bench: POST /api/topology/load',
      'no topology is loaded on prep; load one on that bench: benchd topology load NAME',
    ],
    [
      'decide (retry, end): POST /api/lab/journeys/00587302-845d-4722-ae43-d8ec9b9c54b4/decide',
      'decide (retry, end): benchd lab decide 00587302 DECISION',
    ],
    ['there is no journey x; /api/lab/journeys shows what there is', 'there is no journey x; benchd lab journeys shows what there is'],
  ] as const)
    t.equal(atShell(said), shown)
})

test('no sentence that the API may answer names a command that has a route', async (t) => {
  const top = fileURLToPath(new URL('../../../', import.meta.url))
  const folders = ['drivers', ...['devices', 'events', 'keys', 'teachpoints', 'workflow', 'coordinator'].map((room) => `src/${room}`)]
  const sources = folders.flatMap((folder) =>
    readdirSync(top + folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => /(?<!\.test)\.ts$/.test(name))
      .map((name) => `${folder}/${name}`),
  )
  t.ok(sources.length > 200)
  const atShellAlone = ['src/coordinator/commands.ts', 'src/coordinator/lab_demo.ts']
  const command =
    /^(?!\s*(\/\/|\*|\/\*)).*\bbenchd (labware|runs|devices|incidents|topology|teachpoints|doctor|config|lab (check|decide|journeys|tasks))\b/m
  t.same(
    sources.filter((name) => !atShellAlone.includes(name) && command.test(readFileSync(top + name, 'utf8'))),
    [],
  )
})
