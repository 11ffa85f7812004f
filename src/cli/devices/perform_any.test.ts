// `benchd devices perform`: the operations that a device describes, with their parameters as options.

import { test } from 'tap'
import { benchd } from '../../testing/cli.ts'
import { openService } from '../../testing/http.ts'

const properties = {
  wavelength: { type: 'integer', minimum: 230, unit: 'nm' },
  plate_type: { type: 'string' },
  shaken: { type: 'boolean' },
  gain: { type: 'number' },
}
const operations = { read: { params: { properties, required: ['wavelength'] }, seconds: 40 } }
const device = { device_id: 'reader-1', driver: 'simulated', type: 'reader', transport: { kind: 'simulated' }, settings: { operations } }

test('an operation that a device describes takes its parameters as options, each of its type', async (t) => {
  const { url, secrets, bench } = await openService(t, { devices: [device] })
  const env = { BENCHD_URL: url, BENCHD_API_KEY: secrets.admin }
  const perform = (...args: string[]) => benchd(t.testdirName, ['devices', 'perform', 'reader-1', ...args], env)
  t.match(await perform('initialize'), { code: 0, stdout: 'reader-1: initialized\n' })
  t.match(await perform('read', '--wavelength', '600', '--plate-type=96 wells', '--shaken', '--gain', '-2.5'), {
    code: 0,
    stdout: 'reader-1: read is done\n',
    stderr: '',
  })
  const caps = await benchd(t.testdirName, ['devices', 'caps', 'reader-1'], env)
  t.match(caps.stdout, /\nLIMIT +FROM +TO +STEP +UNIT\nread --wavelength +230 +nm\n/, 'the limits that are enforced are shown')
  const { last_operation } = bench.registry.find('reader-1').info()
  t.same(last_operation?.params, { wavelength: 600, plate_type: '96 wells', shaken: true, gain: -2.5 })
  t.match(JSON.parse((await perform('read', '--wavelength', '600', '--json')).stdout), { success: true, message: 'reader-1: read is done' })
  const mistakes: [args: string[], code: number, words: RegExp][] = [
    [['reed'], 2, /reader-1 cannot reed: it knows initialize, read; did you mean "read"/],
    [['read', '--wave', '600'], 2, /there is no parameter --wave: it takes --wavelength, --plate_type, --shaken, --gain/],
    [['read', '--wavelength', 'red'], 2, /--wavelength red is not a number/],
    [['read', '--wavelength', '600', '--shaken', 'no'], 2, /--shaken no is neither true nor false/],
    [['read', '--wavelength', '100'], 2, /wavelength must be at least 230/],
    [['read'], 2, /wavelength is missing/],
  ]
  for (const [args, code, words] of mistakes) t.match(await perform(...args), { code, stderr: words }, args.join(' '))
  t.match(await benchd(t.testdirName, ['devices', 'accept', 'reader-1'], env), { code: 0, stdout: /there is nothing to accept/ })
})
