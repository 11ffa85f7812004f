import { writeFileSync } from 'node:fs'
import { test } from 'tap'
import { benchd, demo } from '../testing/cli.ts'
import { standing, workflowOf } from '../testing/documents.ts'

const shake = (speed: object | number) => [{ do: 'shake', on: 'shaker-1', with: { speed, duration: 5 } }]
const spin = [{ do: 'centrifuge', on: 'centrifuge-1', with: { g: 500, duration: 10 } }]
const mix = (methods: Readonly<Record<string, object[]>>, more: object = {}) =>
  workflowOf(
    'mix',
    { plate: { ...standing('pad_1'), steps: Object.keys(methods).map((method) => ({ method })) } },
    { topology: 'demo', methods, ...more },
  )

test('history, diff and restore of a workflow, as a person types them', async (t) => {
  const { home } = await demo(t)
  const run = (...args: string[]) => benchd(home, [...args, '--data-dir', `${home}/data`], { BENCHD_OPERATOR: 'Ann' })
  const file = `${home}/mix.json`
  const write = (document: object) => writeFileSync(file, `// by hand\n${JSON.stringify(document)}`)
  const speed = (rpm: number) => ({ variables: { speed: { default: rpm } } })
  write(mix({ shake_it: shake({ variable: 'speed' }) }, speed(400)))
  t.match(await run('workflows', 'put', file, '--note', 'as agreed'), { code: 0, stdout: /is kept\n$/, stderr: /mix is now version 1/ })
  write(mix({ shake_it: shake({ variable: 'speed' }), spin_it: spin }, speed(600)))
  const said = /variables\.speed\.default: 400 -> 600\nmethods\.spin_it: added\nthreads\.plate\.steps: spin_it added after shake_it\n/
  t.match(await run('workflows', 'diff', 'mix', file), { code: 0, stdout: said })
  t.match(await run('workflows', 'put', file), { stderr: /version 2/ })
  t.match(await run('workflows', 'diff', 'mix'), { code: 0, stdout: said })
  t.match(await run('workflows', 'diff', 'mix', '2', '1'), { stdout: /600 -> 400\nmethods.spin_it: removed/ })
  t.match(await run('workflows', 'diff', 'mix', file), { code: 0, stdout: '', stderr: /mean the same/ })
  t.match(JSON.parse((await run('workflows', 'diff', 'mix', '--json')).stdout), { from: 1, to: 2, changes: [{ before: 400 }, {}, {}] })
  const { stdout } = await run('workflows', 'history', 'mix')
  t.match(stdout, /^VERSION {2}AT.* {2}BY.*\n2 .*said to be Ann\n1 .*said to be Ann.*as agreed$/m)
  t.match(JSON.parse((await run('workflows', 'history', 'mix', '--version', '1')).stdout), { variables: { speed: { default: 400 } } })
  t.match(await run('workflows', 'restore', 'mix', '1'), { code: 2, stderr: /--yes/ })
  t.match(await run('workflows', 'restore', 'mix', '1', '--yes', '--note', 'back'), { code: 0, stdout: /is now version 3/ })
  t.match(await run('workflows', 'restore', 'mix', 'one'), { code: 2, stderr: /one is no version/ })
  t.match(await run('workflows', 'history', 'mixx'), { stderr: /there is no workflow "mixx".*mix/ })
  t.match(await run('workflows', 'history', 'seal-and-spin'), { code: 0, stderr: /comes with the program/ })
  await run('runs', 'submit', 'mix', '--mode', 'PURE_SIM')
  const [shown] = (await run('runs', 'show', 'mix')).stdout.split('\n')
  t.match(shown, / {2}mix, version 3 {2}/)
  t.match(JSON.parse((await run('runs', 'workflow', 'mix')).stdout), { name: 'mix', variables: { speed: { default: 400 } } })
})

test('a topology is compared with a file, and its restore names the file to change', async (t) => {
  const bare = {
    format: 1,
    name: 'bare',
    transporters: { 'arm-1': { positions: ['pad_1', 'pad_2'] } },
    positions: { pad_1: {}, pad_2: {} },
  }
  const { home } = await demo(t, { topologies: { 'bare.json': JSON.stringify(bare) } })
  const run = (...args: string[]) => benchd(home, [...args, '--data-dir', `${home}/data`])
  t.match(await run('topology', 'history', 'bare'), { code: 0, stdout: /^1 .*file bare\.json/m })
  writeFileSync(`${home}/new.json`, JSON.stringify({ ...bare, positions: { pad_1: {}, pad_2: { parking: true } } }))
  t.match(await run('topology', 'diff', 'bare', `${home}/new.json`), { stdout: 'positions.pad_2.parking: false -> true\n' })
  t.match(await run('topology', 'restore', 'bare', '1'), { stderr: /bare\.json/ })
})
