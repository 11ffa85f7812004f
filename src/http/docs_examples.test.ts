// The examples of /docs, run as they are printed there: each against the demo bench, and those of streams against a bench that pauses
// between its events.

import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { type Test, test } from 'tap'
import { noCurl } from '../testing/curl.ts'
import { openService } from '../testing/http.ts'

type Parameter = { name: string; example?: unknown; schema: { enum?: unknown } }
type Operation = {
  operationId: string
  parameters?: Parameter[]
  requestBody?: { content: Record<string, { example?: unknown }> }
  responses: Record<string, { content?: Record<string, unknown> }>
}
type Language = (request: object, base: string) => string
type Printer = {
  requestOf(operation: object, values: Record<string, string>, body: string): object
  languages: Record<'curl' | 'Python requests' | 'Python, nothing installed', Language>
}

const shipped = (path: string) => new URL(`../../../src/http/${path}`, import.meta.url)
const { requestOf, languages } = (await import(shipped('docs/request.js').href)) as Printer
const { paths } = JSON.parse(readFileSync(shipped('openapi.json'), 'utf8')) as { paths: Record<string, Record<string, Operation>> }
const operations = Object.entries(paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ ...operation, path, method })),
)
const isStream = ({ responses }: Operation) => responses[200]?.content?.['text/event-stream'] !== undefined

/** Debian's Python has Debian's packages; another one may come first. */
const python = ['/usr/bin/python3', 'python3'].find((one) => spawnSync(one, ['-c', 'import requests']).status === 0)
const skip = python ? false : 'no Python here has requests; on Debian it is in the package python3-requests'

/** As the page prints it before anybody types into its fields. */
function printed(language: keyof typeof languages, operation: (typeof operations)[number], base: string): string {
  const { parameters = [], requestBody } = operation
  const values = parameters.map(({ name, example, schema }) => [name, schema.enum ? '' : String(example ?? '')])
  const body = requestBody?.content['application/json']?.example
  return languages[language](requestOf(operation, Object.fromEntries(values), body === undefined ? '' : JSON.stringify(body)), base)
}

/** Runs Python programs one after the other in one process, and prints for each what went wrong, if anything did. */
const runner = `
import contextlib, io, json, sys, traceback
for name, program in json.load(sys.stdin):
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(program, name, "exec"), {})
        wrong = None
    except SystemExit as refused:
        wrong = None if isinstance(refused.code, str) and refused.code else "it ended without a sentence"
    except BaseException:
        wrong = traceback.format_exc(limit=-1)
    print(json.dumps([name, wrong]), flush=True)
`

for (const language of ['Python requests', 'Python, nothing installed'] as const) {
  test(`each example in ${language} prints its answer, or the sentence of a refusal`, { skip }, async (t) => {
    const { url, secrets } = await openService(t)
    const programs = operations.filter((one) => !isStream(one)).map((one) => [one.operationId, printed(language, one, url)])
    const child = spawn(python!, ['-c', runner], { cwd: t.testdir({}), env: { BENCHD_API_KEY: secrets.operate } })
    child.stdin.end(JSON.stringify(programs))
    const outcomes = (await text(child.stdout)).split('\n').filter(Boolean)
    t.same(
      outcomes.map((line) => JSON.parse(line) as unknown),
      programs.map(([name]) => [name, null]),
    )
  })
}

/** Most operations answer curl with JSON; these few answer with a file or a text. */
const isWhole = (operation: Operation, text: string) => {
  const [type = 'application/json'] = Object.keys(operation.responses[200]?.content ?? {})
  return type !== 'application/json' || isJson(text)
}
const isJson = (text: string) => {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

test('each example in curl prints its answer, or a refusal, as JSON, and one that brings a file writes it', { skip: noCurl }, async (t) => {
  const { url, secrets } = await openService(t)
  const folder = t.testdir({})
  const examples = operations.filter((one) => !isStream(one))
  const programs = examples.map(
    (one) => `{ ${printed('curl', one, url)}; echo $? >${one.operationId}.code; } >${one.operationId}.out 2>/dev/null`,
  )
  const child = spawn('bash', {
    cwd: folder,
    env: { PATH: process.env.PATH, BENCHD_API_KEY: secrets.operate },
    stdio: ['pipe', 'inherit', 'inherit'],
  })
  child.stdin.end(programs.join('\n'))
  await once(child, 'close')
  const read = (name: string) => readFileSync(`${folder}/${name}`, 'utf8')
  for (const one of examples) {
    t.equal(read(`${one.operationId}.code`), '0\n', one.operationId)
    t.ok(isWhole(one, read(`${one.operationId}.out`)), one.operationId)
    if (one.responses[200]?.content?.['application/gzip']) t.ok(read(`${one.operationId}.tar.gz`).length > 0, one.operationId)
  }
})

// Å has two bytes in UTF-8. Some languages take the other two for the end of a line.
const words = ['Å', '\u2028', '\u0085', 'last']

for (const language of Object.keys(languages) as (keyof typeof languages)[]) {
  test(`the example of the events in ${language} prints each event when it is fired`, {
    skip: language === 'curl' ? noCurl : skip,
  }, async (t) => {
    const { bench, url, secrets } = await openService(t)
    const operation = operations.find(({ operationId }) => operationId === 'streamEvents')!
    const next = lines(t, language, printed(language, { ...operation, parameters: [] }, url), secrets.read)
    await next((line) => line.startsWith('retry:'))
    for (const word of words) {
      // The bench says nothing more until the example has printed this event.
      bench.hub.emit('CUSTOM.example.EMITTED', { word }, 'run-1')
      const line = await next((one) => one.includes('CUSTOM.example.EMITTED'))
      t.match(JSON.parse(line.replace('data: ', '')), { context: { word } })
    }
  })
}

/** Starts a program; the returned function finds its next line of a kind. Not with `node:readline`, for which U+2028 ends a line. */
function lines(t: Test, language: keyof typeof languages, program: string, key: string) {
  const [command, option] = language === 'curl' ? (['bash', '-c'] as const) : ([python!, '-c'] as const)
  const child = spawn(command, [option, program], { env: { ...process.env, BENCHD_API_KEY: key }, detached: true })
  t.teardown(() => process.kill(-child.pid!, 'SIGKILL'))
  const pieces = child.stdout.setEncoding('utf8')[Symbol.asyncIterator]()
  let rest = ''
  return async (isIt: (line: string) => boolean): Promise<string> => {
    for (;;) {
      const end = rest.indexOf('\n')
      if (end < 0) {
        const { value, done } = await pieces.next()
        if (done) throw new Error(`it ended: ${await text(child.stderr)}`)
        rest += value
        continue
      }
      const line = rest.slice(0, end)
      rest = rest.slice(end + 1)
      if (isIt(line)) return line
    }
  }
}
