// The record of a run with the client for Python: values, readings, notes, the report, and the searches.

import { appendFileSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import type { Test } from 'tap'
import { demoTeachpoints } from '../../examples/demo_bench.ts'
import { standing, workflowOf } from '../../testing/documents.ts'
import { openService } from '../../testing/http.ts'
import { printed, withPython } from '../../testing/python.ts'

const run =
  'run = bench.submit("seal-and-spin", mode="DEVICE_SIM", operator_id="op-7", project="stability", tags=["night"], notes="first")\nrun.wait()\n'

async function withDemo(t: Test) {
  const service = await openService(t)
  await service.bench.teachpoints.importAll(demoTeachpoints, { overwrite: false })
  await service.ask('POST', '/api/topology/load', { json: { name: 'demo' } })
  return service
}

withPython('the record of a run is read as rows, CSV and a report; a note is in it', async (t) => {
  const { url, secrets, data_dir } = await withDemo(t)
  const folder = `${data_dir}/saved`
  mkdirSync(folder)
  const said = await printed(
    t,
    { url, key: secrets.operate },
    `${run}
say(run.note("the lid was not seated", tags=["deviation"])["success"])
say([[row["text"], row["tags"]] for row in run.record("note")])
say({name: run.record("submission")[0][name] for name in ("operator_id", "project", "tags", "notes")})
say(len({row["kind"] for row in run.record()}) > 4)
say(run.values() == [row for row in run.record() if row["kind"] == "value"])
readings = run.readings()
say(sorted({row["device_id"] for row in readings}))
for _ in range(2): run.readings_csv("${folder}/readings.csv")
run.values_csv("${folder}/values.csv")
run.report("${folder}/report.html")
import asyncio
async def main():
    async with AsyncBench.from_env() as other: say(await (await other.run(run.execution_id)).readings() == readings)
asyncio.run(main())
for wrong in (lambda: bench.run("0" * 36).values(), lambda: run.value("0" * 64), lambda: bench.run("0" * 36).report("${folder}/none.html")):
    try: wrong()
    except BenchError as error: say([error.reason, error.status])
`,
  )
  t.same(said.slice(0, 4), [
    true,
    [['the lid was not seated', ['deviation']]],
    { operator_id: 'op-7', project: 'stability', tags: ['night'], notes: 'first' },
    true,
  ])
  t.equal(said[4], true)
  t.match(said[5], /shaker-1/)
  t.same(said.slice(6), [true, ...Array(3).fill(['not_found', 404])])
  t.same(readdirSync(folder).sort(), ['readings.csv', 'report.html', 'values.csv'])
  const text = (name: string) => readFileSync(`${folder}/${name}`, 'utf8')
  t.match(text('readings.csv'), /^at,device_id,name,value,target,unit,why,action_id\r\n\d.*\r\n/)
  t.match(text('values.csv'), /^at,name,value,unit/)
  t.match(text('report.html'), /The run ended COMPLETED[\s\S]*the lid was not seated/)
})

withPython('runs, labware and operations are found, over pages; a damaged record is warned of', async (t) => {
  const { url, secrets, data_dir } = await withDemo(t)
  const program = `${run}
from datetime import datetime, timedelta
import benchd, warnings
bench.submit("seal-and-spin", mode="PURE_SIM").wait()
benchd._PAGE = 1
ids = lambda **search: [one["execution_id"] == run.execution_id for one in bench.runs(**search)]
say(ids(), ids(limit=1), ids(limit=0))
for search in ({"project": "stability"}, {"tag": "night"}, {"mode": "DEVICE_SIM"}, {"text": "op-7"}): say(ids(**search))
say(ids(workflow="other"), ids(until=datetime.now() - timedelta(days=1)), ids(since=datetime.now() - timedelta(hours=1), mode="PURE_SIM"))
plate = run.record("move")[0]["labware_id"]
steps = bench.labware_history(plate)
say(len(steps) > 3, steps[:2] == bench.labware_history(plate, limit=2), steps == sorted(steps, key=lambda step: -step["at"]))
bench["sealer-1"].initialize()
bench["shaker-1"].initialize()
say([one["device_id"] for one in bench.operations()], [one["text"] for one in bench.operations(device_id="sealer-1")])
for wrong in (lambda: bench.runs(status="DONE"), lambda: bench.labware_history("nothing")):
    try: wrong()
    except BenchError as error: say(error.status)
say(run.execution_id)
`
  const said = await printed(t, { url, key: secrets.operate }, program)
  t.same(said.slice(0, 3), [[false, true], [false], []])
  t.same(said.slice(3, 7), Array(4).fill([true]))
  t.same(said.slice(7, 13), [[], [], [false], true, true, true])
  t.match(said.slice(13), [['shaker-1', 'sealer-1'], [/sealer-1/], 400, 404])
  const id = said.at(-1) as string
  appendFileSync(`${data_dir}/executions/${id}/record.jsonl`, '{"crc":"00000000","kind":"value"}\n')
  const damaged = `
import warnings
warnings.simplefilter("error")
try: bench.run("${id}").values()
except UserWarning as warning: say(str(warning))
`
  t.same(await printed(t, { url, key: secrets.operate }, damaged), ['the record is not whole: 1 of its lines are not as they were written'])
})

withPython('the name of the person goes with each change', async (t) => {
  const { url, secrets, ask } = await openService(t)
  const said = await printed(
    t,
    { url, key: secrets.operate },
    `import os
other = Bench(os.environ["BENCHD_URL"], os.environ["BENCHD_API_KEY"], operator=" \u017baneta ")
other["shaker-1"].initialize()
os.environ["BENCHD_OPERATOR"] = "Ann"
Bench.from_env()["sealer-1"].initialize()
say([[one["device_id"], one.get("operator")] for one in bench.operations()])
`,
  )
  t.same(said, [
    [
      ['sealer-1', 'Ann'],
      ['shaker-1', 'Żaneta'],
    ],
  ])
  t.match((await ask('GET', '/api/system/audit?who=ann')).body, { entries: [{ text: 'Began to initialize sealer-1', operator: 'Ann' }] })
})

withPython('the versions of a workflow are listed, compared and put again; a run has the document that it ran', async (t) => {
  const { url, secrets } = await withDemo(t)
  const document = workflowOf(
    'mix',
    { plate: { ...standing('pad_1'), steps: [{ delay: 1 }] } },
    { topology: 'demo', variables: { speed: { default: 400 } } },
  )
  const said = await printed(
    t,
    { url, key: secrets.admin },
    `import json
first = json.loads('${JSON.stringify(document)}')
second = {**first, "variables": {"speed": {"default": 600}}}
bench.request("PUT", "/api/workflows/mix", first)
say(bench.workflow_diff("mix", second))
bench.request("PUT", "/api/workflows/mix", second)
say(bench.workflow_diff("mix"), bench.workflow_diff("mix", 2, 1))
say(bench.restore_workflow("mix", 1, note="back")["version"])
say([one["version"] for one in bench.workflow_versions("mix")])
run = bench.submit("mix", mode="PURE_SIM")
say(run.info()["workflow_version"], run.workflow()["document"]["variables"]["speed"])
`,
  )
  const [there, back] = [['variables.speed.default: 400 -> 600'], ['variables.speed.default: 600 -> 400']]
  t.same(said, [there, there, back, 3, [3, 2, 1], 3, { default: 400 }])
})

withPython('the queue is filled, ordered and started; a run gets another priority', async (t) => {
  const { url, secrets } = await withDemo(t)
  const said = await printed(
    t,
    { url, key: secrets.operate },
    `from datetime import datetime, timedelta
bench.pause_queue()
add = lambda **more: bench.add_to_queue("seal-and-spin", mode="PURE_SIM", **more)
first = add(samples=[{"speed": 600}, {"speed": 700}])
later = add(start_at=datetime.now() + timedelta(days=1), on_failure="go_on", priority=3)
after = add(start_at={"after": first["entry_id"]})
say(first["groups"], later["number"], after["start_at"] == {"after": first["entry_id"]})
bench.move_in_queue(after["entry_id"], to="first", start_at=None)
bench.remove_from_queue(later["entry_id"])
queue = bench.queue()
say(queue["state"], [one["entry_id"] == known["entry_id"] for one, known in zip(queue["entries"], [after, first])])
say(bench.start_queue_entry(after["entry_id"]).wait()["status"])
bench.resume_queue(since=bench.queue()["paused"]["since"])
run = bench.submit("seal-and-spin", mode="DEVICE_SIM", priority=2)
say(run.set_priority(5)["success"])
run.stop()
`,
  )
  t.same(said, [2, 1, true, 'paused', [true, true], 'COMPLETED', true])
})
