import { Hono } from 'hono'
import { test } from 'tap'
import { LabError } from '../errors.ts'
import { silent } from '../kit/log.ts'
import type { Env } from './contract.ts'
import { answerFailure } from './errors.ts'

test('a failure of the disk that nobody has worded is answered with what to do, and any other as unforeseen', async (t) => {
  const answered = async (error: Error) => {
    const hono = new Hono<Env>()
    hono.get('/', (c) => answerFailure(silent, c, error))
    const response = await hono.request('/')
    return { status: response.status, reason: response.headers.get('x-reason'), ...((await response.json()) as { detail: string }) }
  }
  t.match(await answered(Object.assign(new Error('EMFILE: too many open files, open'), { code: 'EMFILE' })), {
    status: 503,
    reason: 'storage',
    detail: /\(EMFILE\): too many files are open; try again in a few seconds/,
  })
  t.match(await answered(new Error('EMFILE?')), { status: 500, reason: 'internal' })
  t.match(await answered(new LabError('not_found', 'there is none')), { status: 404, detail: 'there is none' })
})
