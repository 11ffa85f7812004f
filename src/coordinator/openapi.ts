// The OpenAPI document of the coordinator of a lab. For the generator and for tests alone, as that of the bench.

import type { Route } from '../http/contract.ts'
import { openapi } from '../http/openapi.ts'
import { named } from '../http/openapi_schemas.ts'
import { Custody, coordinatorRoutes, Journey, ownKeys, Task } from './routes.ts'

/** Every route of the coordinator. */
export const labRoutes: readonly Route[] = [...coordinatorRoutes, ...ownKeys]

const about = [
  'The coordinator of a lab: journeys over its benches, tasks for people and carriers, and the holder of each labware. Every error answers',
  '`{"detail": "…"}`, and a word for programs in the header `X-Reason`. Times are in seconds, times of day Unix seconds. While PostgreSQL is away,',
  'requests answer 503, and the benches go on with what they do. The stop of all benches is not a safety function.',
].join(' ')

export function labOpenapi(): object {
  const { OperationResult, KeyRequest, PublicKey, CreatedKey } = named
  return openapi(labRoutes, {
    title: 'benchd lab',
    about,
    tags: { system: 'The lab and its benches.', runs: 'Journeys, tasks and custody.', keys: 'Keys: who may use the coordinator.' },
    named: { Error: named.Error, OperationResult, KeyRequest, PublicKey, CreatedKey, Journey, Task, Custody },
    is_idempotent: false,
  })
}
