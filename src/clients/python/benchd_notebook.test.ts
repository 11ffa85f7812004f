// The tables that notebooks show of a bench, a device and a run.

import { demoTeachpoints } from '../../examples/demo_bench.ts'
import { openService } from '../../testing/http.ts'
import { printed, withPython } from '../../testing/python.ts'

withPython('a notebook shows the bench, a device and a run as tables', async (t) => {
  const { url, secrets, bench, ask } = await openService(t)
  await bench.teachpoints.importAll(demoTeachpoints, { overwrite: false })
  await ask('POST', '/api/topology/load', { json: { name: 'demo' } })
  const said = await printed(
    t,
    { url, key: secrets.operate },
    `say(bench._repr_html_(), bench["shaker-1"]._repr_html_())
bench["shaker-1"].stop()
say(bench["shaker-1"]._repr_html_(), bench["<none>"]._repr_html_())
run = bench.submit("seal-and-spin", mode="PURE_SIM")
run.wait()
say(run._repr_html_(), bench.run("0" * 36)._repr_html_())
say(Bench("http://127.0.0.1:9", "bk_none")._repr_html_())
`,
  )
  t.match(said[0], /<caption>http:.*<td>shaker-1<\/td>/)
  t.match(said[1], /<td>state<\/td><td>not_initialized<\/td>/)
  t.match(said[2], /<td>stopped by<\/td><td>[a-z]/)
  t.match(said[3], /<b>&lt;none&gt;<\/b>: there is no device/)
  t.match(said[4], /seal-and-spin .*: COMPLETED<\/caption>.*<td>plate/)
  t.match(said[5], /<b>run 00000000<\/b>: there is no/)
  t.match(said[6], /<b>http:\/\/127.0.0.1:9<\/b>: /)
})
