import { mkdirSync, writeFileSync } from 'node:fs'
import { type Test, test } from 'tap'
import { benchd, running } from '../testing/cli.ts'
import { pluginCode } from '../testing/plugins.ts'

/** A home with a configuration with one device, and plug-ins beside it. */
function homeWith(t: Test, plugins: Readonly<Record<string, { code: string; [setting: string]: unknown }>>): string {
  const home = t.testdir({})
  mkdirSync(`${home}/plugins`)
  const entries = Object.entries(plugins).map(([name, { code, ...more }]) => {
    writeFileSync(`${home}/plugins/${name}.js`, code)
    return [name, { settings: { file: `${home}/${name}.txt` }, ...more }]
  })
  const devices = [{ device_id: 'shaker-1', driver: 'bioshake', transport: { kind: 'simulated' } }]
  const config = { format: 1, listen: { host: '127.0.0.1', port: 0 }, devices, plugins: Object.fromEntries(entries) }
  writeFileSync(`${home}/config.json`, JSON.stringify(config))
  return home
}

test('the service starts the plug-ins beside its configuration, a reload takes changes, and an error of a timer ends nothing', async (t) => {
  const home = homeWith(t, {
    lamp: { code: pluginCode('bench.log("is on")') },
    near: {
      code: pluginCode(
        `setTimeout(() => { throw new Error('late') }, 10); setTimeout(() => void Promise.reject(new Error('refused')), 20)
        // No stack names the plug-in.
        setTimeout(() => { throw 'a text' }, 30); const { connect } = await import('node:net'); setTimeout(() => connect(1, '127.0.0.1'), 40)`,
      ),
      in_process: true,
    },
  })
  const service = running(t, home, ['serve', '--config', `${home}/config.json`, '--data-dir', `${home}/data`])
  for (const line of [...Array(4).fill(/the plug-in near threw outside of every call/), /plug-in lamp: is on/]) await service.line(line)
  const near = ['--data-dir', `${home}/data`]
  const list = async () => (await benchd(home, ['plugins', 'list', ...near])).stdout
  t.match(await list(), /^NAME +STATE .*\nlamp +\w+ +isolated +read .*plugins\/lamp\.js/)
  t.match(await list(), /near +running +in_process +read .* connect ECONNREFUSED/)
  const config = { format: 1, listen: { host: '127.0.0.1', port: 0 }, devices: [], plugins: { lamp: { scope: 'operate' } } }
  writeFileSync(
    `${home}/config.json`,
    JSON.stringify({ ...config, devices: [{ device_id: 'shaker-1', driver: 'bioshake', transport: { kind: 'simulated' } }] }),
  )
  t.match(await benchd(home, ['config', 'reload', ...near]), { code: 0, stdout: /plugins/ })
  await service.line(/plug-in lamp: is on/)
  await service.line(/the plug-in lamp is started/)
  t.match(await list(), /lamp +running +isolated +operate/)
  t.notMatch(await list(), /near/)
  t.match(await benchd(home, ['plugins', 'restart', 'lamp', ...near]), { code: 0 })
  t.match(await benchd(home, ['plugins', 'restart', 'lmp', ...near]), { code: 3, stderr: /did you mean "lamp"/ })
  service.child.stdout.resume()
  service.child.kill('SIGTERM')
  t.match(await service.ended, { code: 0 })
})

test('a file is checked without a service', async (t) => {
  const home = homeWith(t, {
    good: { code: pluginCode('bench.registerSink({ onEvent() {} })') },
    bad: { code: pluginCode('bench.none()') },
  })
  const check = (...words: string[]) => benchd(home, ['plugins', 'check', ...words])
  t.match(await check(`${home}/plugins/good.js`), { code: 0, stdout: /good\.js: it starts: of a test, with 1 sink\n$/ })
  t.match(await check(`${home}/plugins/bad.js`), { code: 1, stdout: /bench\.none is not a function \(.*bad\.js:\d+:\d+\)/ })
  const { code, stdout } = await check(`${home}/plugins/good.js`, '--json', '--settings', '{"a": 1}')
  t.match({ code, found: JSON.parse(stdout) }, { code: 0, found: { title: 'of a test', sinks: 1, trouble: null } })
  t.match(await check(`${home}/none.js`), { code: 3, stderr: /there is no file/ })
  t.match(await check(`${home}/plugins/good.js`, '--settings', '[]'), { code: 2, stderr: /must be a JSON object/ })
})
