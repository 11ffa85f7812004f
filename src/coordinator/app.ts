// The HTTP interface of the coordinator of a lab, with the checks and the error format of a bench.

import { Hono } from 'hono'
import { TrieRouter } from 'hono/router/trie-router'
import type { Config } from '../config.ts'
import { LabError } from '../errors.ts'
import { BodyReader } from '../http/body.ts'
import { caller } from '../http/call.ts'
import type { Env, Route } from '../http/contract.ts'
import { directly, entriesOf, throughHono } from '../http/direct.ts'
import { entrance } from '../http/entrance.ts'
import { answerError, answerFailure } from '../http/errors.ts'
import { nearPath } from '../http/near_paths.ts'
import { publicLabPages, servePages } from '../http/pages.ts'
import type { Audit } from '../keys/audit.ts'
import type { Keys } from '../keys/keys.ts'
import { systemClock } from '../kit/clock.ts'
import type { Log } from '../kit/log.ts'
import type { Refusals } from '../kit/refusals.ts'
import { type CoordinatorRooms, coordinatorRoutes, ownKeys } from './routes.ts'

type Around = { config: Config; keys: Keys; refusals: Refusals; audit: Audit; log: Log; rooms: CoordinatorRooms }

const keys_made =
  'make one on the computer of the coordinator with: benchd key create --name NAME --scope operate --data-dir /var/lib/benchd-lab'

export function coordinatorApp(around: Around): Hono<Env> {
  const hono = new Hono<Env>({ router: new TrieRouter() })
  hono.onError((error, c) => answerFailure(around.log, c, error))
  const routes: readonly Route<CoordinatorRooms & { keys: Keys }>[] = [...coordinatorRoutes, ...ownKeys]
  const paths = routes.map(({ path }) => path)
  hono.notFound((c) => {
    const guess = nearPath(c.req.path, paths)
    return answerError(
      c,
      new LabError('not_found', `there is nothing at ${c.req.path} of the coordinator${guess}; /docs shows what there is`),
    )
  })
  const rooms = Object.assign(around.rooms, { keys: around.keys })
  const { enter } = entrance({ ...around, keys_made })
  const ask = () => Promise.reject(new Error('the coordinator asks nothing of itself'))
  const answer = caller({ rooms, bodies: new BodyReader(around), ask })
  const direct = directly(entriesOf(routes, answer), enter, (c, error) => answerFailure(around.log, c, error))
  throughHono(hono, { direct, enter, publicPages: publicLabPages })
  servePages(hono, { ...around, clock: systemClock }, 'lab')
  return hono
}
