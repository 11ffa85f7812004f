import { test } from 'tap'
import { openBench } from './testing.ts'

test('figures are told in lines that Prometheus reads', async (t) => {
  const { ask, lab } = await openBench(t)
  await lab.hub.stored(lab.hub.emit('THREAD.a.STARTED', {}))
  const { status, headers, text } = await ask('GET', '/metrics', { key: 'read' })
  t.equal(status, 200)
  t.match(headers.get('content-type'), /^text\/plain; version=0\.0\.4/)
  for (const line of text.trimEnd().split('\n')) t.match(line, /^(# (HELP|TYPE) benchd_\w+ .+|benchd_\w+(\{[^}]+\})? [\d.]+)$/)
  t.match(text, /^benchd_event_log_bytes [1-9]/m)
  t.match(text, /^benchd_disk_free_bytes [1-9]/m)
  t.match(text, /^benchd_disk_written_bytes_total \d/m)
  t.match(text, /^benchd_device_state\{device_id="shaker-1",state="not_initialized"\} 1$/m)
  t.equal((await ask('GET', '/metrics', { key: null })).status, 401)
})
