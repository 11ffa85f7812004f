import { readFileSync } from 'node:fs'
import { test } from 'tap'
import * as v from 'valibot'
import { Incidents } from '../events/incidents.ts'
import { ChainedLines } from './chained_lines.ts'
import { systemClock } from './clock.ts'
import { LineFile } from './json_lines.ts'
import { lengthLine } from './length_line.ts'

const report = ({ message }: { message: string }) => {
  throw new Error(message)
}

const loss = 'something is lost'

test('a file of lines of a newer format is refused with what to do, and left as it is', async (t) => {
  const text = `{"format":4}\n${lengthLine({ format: 4, bytes: 20 })}{"a":1}\n`
  const path = `${t.testdir({ 'it.jsonl': text })}/it.jsonl`
  const refusal = { message: /it\.jsonl has format 4; this version knows up to [13]: install a newer version/ }
  await t.rejects(new LineFile({ path, schema: v.object({}), report, loss }).read(), { code: 'config', ...refusal })
  await t.rejects(Incidents.open({ path, clock: systemClock, emit: () => 0, now: () => 0, warn: report as never, report }), {
    code: 'config',
    ...refusal,
  })
  await t.rejects(new ChainedLines({ path, report }).add([{ b: 1 }]), refusal)
  t.equal(readFileSync(path, 'utf8'), text)
})

test('a line that says the format that is known is no damage, nor is a member of that name further down', async (t) => {
  const folder = t.testdir({ 'a.jsonl': '{"format": 1}\n{"a":1}\n', 'b.jsonl': '\n{"a":1}\n{"format":7}\n' })
  const schema = v.object({ a: v.number() })
  t.same(await new LineFile({ path: `${folder}/a.jsonl`, schema, report, loss }).read(), [{ a: 1 }])
  t.same(await new LineFile({ path: `${folder}/b.jsonl`, schema, report, loss }).read(), [{ a: 1 }])
})
