// A request that has come to its route: the checks that all routes share, its body, and its handler.

import { LabError } from '../errors.ts'
import { allows } from '../keys/keys.ts'
import { didYouMean } from '../kit/did_you_mean.ts'
import { parseJson } from '../kit/json.ts'
import { checked } from '../kit/schema.ts'
import { operatorOf } from './author.ts'
import { type BodyReader, textOf, usualLimit } from './body.ts'
import type { Exchange, Route } from './contract.ts'
import type { MaybePromise } from './maybe_promise.ts'

type Asked<Rooms> = { route: Route<Rooms>; c: Exchange; param: (name: string) => string; bytes: Uint8Array }

type Around<Rooms> = {
  rooms: Rooms
  bodies: BodyReader
  /** Asks the service as somebody with a shell on this machine does. */
  ask(path: string): Promise<string>
  /** Throws where the route may not be called now. */
  mustBeOpen?(route: Route<Rooms>): void
  /** A step before the handler, which `handle` calls. */
  before?(asked: Asked<Rooms>, handle: () => MaybePromise<Response>): MaybePromise<Response>
}

/** Makes the function that calls routes. It throws, or rejects, with what a check or the handler throws. */
export function caller<Rooms>({ rooms, bodies, ask, mustBeOpen, before = (_asked, handle) => handle() }: Around<Rooms>) {
  const handled = (asked: Asked<Rooms>) => {
    const { route, c, param, bytes } = asked
    const query = () => (route.query ? checked(route.query, c.req.query(), 'the query') : {})
    const body = () => {
      const its = bodyOf(route, textOf(bytes))
      const audited = c.get('audited')
      if (audited) audited.body = its
      return its
    }
    const audited = c.get('audited')
    if (audited) audited.bytes = bytes
    return before(asked, () => route.handle({ rooms, c, param, ask, query, body }))
  }
  return (route: Route<Rooms>, c: Exchange, param: (name: string) => string): MaybePromise<Response> => {
    if (route.method !== 'GET') {
      c.set('audited', { route, parameters: parametersOf(route, param), ...(route.query && { query: c.req.query() }) })
      const operator = operatorOf(route, c)
      if (operator !== undefined) c.set('operator', operator)
    }
    mustBeAllowed(route, c)
    mustBeOpen?.(route)
    if (route.is_unrecorded) c.set('is_unrecorded', true)
    mustKnowParameters(route, c)
    if (!route.body) return handled({ route, c, param, bytes: nothing })
    return bodies.read(c, route.body_limit ?? usualLimit).then(async ({ bytes, release }) => {
      try {
        return await handled({ route, c, param, bytes })
      } finally {
        release()
      }
    })
  }
}

const nothing = new Uint8Array()

function parametersOf({ path }: Route, param: (name: string) => string): Record<string, string> {
  return Object.fromEntries([...path.matchAll(/:(\w+)/g)].map(([, name]) => [name, param(name!)]))
}

function mustBeAllowed({ scope }: Route, c: Exchange): void {
  if (scope === 'public' || scope === 'any') return
  const { name, scope: has } = c.get('principal')
  if (!allows(has, scope)) throw new LabError('forbidden', `this needs a key of scope ${scope}; the key ${JSON.stringify(name)} has ${has}`)
}

/**
 * Throws `invalid` for a parameter that the route does not know, or that is there twice: a mistake of the client. A stop is never refused for it.
 * Names that begin with `_` are free: programs add them so that no cache answers.
 */
function mustKnowParameters({ scope, query }: Route, c: Exchange): void {
  if (scope === 'any' || !c.req.url.includes('?')) return
  const known = Object.keys(query?.entries ?? {})
  const all = [...new URLSearchParams(c.req.url.slice(c.req.url.indexOf('?'))).keys()]
  const given = all.filter((name) => name !== '' && !name.startsWith('_'))
  const unknown = given.find((name) => !known.includes(name))
  if (unknown !== undefined) {
    const takes = known.length ? `it takes ${known.join(', ')}${didYouMean(unknown, known)}` : 'it takes none'
    throw new LabError('invalid', `the query has a parameter ${JSON.stringify(unknown)} that ${c.req.path} does not know; ${takes}`)
  }
  const twice = given.find((name, i) => given.indexOf(name) < i)
  if (twice !== undefined) throw new LabError('invalid', `the query has ${JSON.stringify(twice)} more than once; give it once`)
}

function bodyOf(route: Route, text: string): unknown {
  if (!route.body) return {}
  if (text === '' && !route.body_may_be_empty) throw new LabError('invalid', 'the body is missing; send JSON')
  return checked(route.body, text === '' ? {} : parseJson(text, 'the body'), 'the body')
}
