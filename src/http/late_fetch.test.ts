import { test } from 'tap'
import './late_fetch.ts'
import { getRequestListener } from '@hono/node-server'

/** Node keeps a list of what it has read in of itself; its types do not know it. */
const hasFetch = () => (process as unknown as { moduleLoadList: string[] }).moduleLoadList.some((name) => name.includes('undici'))

/** What Node has in the place of a class of its fetch that nobody has looked at: a getter on Node 20, on 22 and later the class. */
const isGetter = (name: string) => Object.getOwnPropertyDescriptor(globalThis, name)?.get !== undefined

test("Node's fetch is read in when something is first made of it, and all is as if it had been there before", (t) => {
  const early = { Headers, Request, Response }
  getRequestListener(() => new Response('light'))
  const light = { Request, Response }
  const alreadyRead = hasFetch()
  t.equal(alreadyRead, !isGetter('FormData'), 'nothing was made yet; without getters Node reads it in when it is looked at')

  const headers = new Headers({ a: '1' })
  t.ok(hasFetch())
  t.equal(headers.get('a'), '1')
  t.ok(headers instanceof early.Headers)
  const request = new Request('http://localhost/x', { method: 'POST', body: 'y', headers })
  t.ok(request instanceof early.Request)
  t.equal(request.headers.get('a'), '1')
  t.ok(request.headers instanceof Headers, 'also those that Node made by itself')
  const response = new Response('z', { status: 201, headers: request.headers })
  t.ok(response instanceof early.Response)
  t.equal(response.status, 201)
  t.equal(response.clone().headers.get('a'), '1')
  t.equal(early.Response.json({}).status, 200, 'what belongs to the class is there')
  t.same([Request === light.Request, Response === light.Response], [true, true], 'the light ones stay in their place')
  t.end()
})
