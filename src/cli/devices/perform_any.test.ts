// `benchd devices perform`: the operations that a device describes, with their parameters as options.

import { test } from 'tap'
import { benchd } from '../../testing/cli.ts'
import { openService } from '../../testing/http.ts'

const properties = {
  wavelength: { type: 'integer', minimum: 230, unit: 'nm' },
  plate_type: { type: 'string' },
  shaken: { type: 'boolean' },
  gain: { type: 'number', default: 1.5 },
  wells: { type: 'array', items: { type: 'string', maxLength: 3 }, minItems: 1, maxItems: 96 },
  plate: { type: ['object', 'null'], properties: { rows: { type: 'integer' } } },
  mode: { type: ['string', 'null'], enum: ['fast', 'slow', null] },
}
const operations = { read: { params: { properties, required: ['wavelength'] }, seconds: 40 }, read_twice: { seconds: 1 } }
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
  const { last_operation } = bench.registry.find('reader-1').info()
  t.same(last_operation?.params, { wavelength: 600, plate_type: '96 wells', shaken: true, gain: -2.5 })
  t.match(await perform('read-twice'), { code: 0, stdout: 'reader-1: read_twice is done\n' }, 'by the name that devices caps shows')
  const caps = await benchd(t.testdirName, ['devices', 'caps', 'reader-1'], env)
  t.match(
    caps.stdout.replace(/ +/g, ' '),
    [
      'PARAMETER TYPE FROM TO STEP UNIT DEFAULT CHOICES',
      'read --wavelength integer 230 nm',
      'read --plate-type string',
      'read --shaken boolean',
      'read --gain number 1.5',
      'read --wells array of string 1 96',
      'read --plate object or null',
      'read --mode string or null fast, slow, null',
    ].join('\n'),
    'whatever is enforced is shown',
  )
  const shaped = ['--wavelength', '600', '--wells', '["A1","B2"]', '--plate', '{"rows":8}', '--mode', 'fast']
  t.equal((await perform('read', ...shaped)).code, 0)
  const taken = () => bench.registry.find('reader-1').info().last_operation?.params
  t.same(taken(), { wavelength: 600, gain: 1.5, wells: ['A1', 'B2'], plate: { rows: 8 }, mode: 'fast' })
  t.equal((await perform('read', '--wavelength', '600', '--wells', 'A1, B2', '--plate', 'null')).code, 0)
  t.same(taken(), { wavelength: 600, gain: 1.5, wells: ['A1', 'B2'], plate: null })
  t.match(JSON.parse((await perform('read', '--wavelength', '600', '--json')).stdout), { success: true, message: 'reader-1: read is done' })
  const mistakes: [args: string[], code: number, words: RegExp][] = [
    [['reed'], 2, /reader-1 cannot reed: it knows initialize, read, read_twice; did you mean "read"/],
    [['read', '--wave', '600'], 2, /there is no parameter --wave: it takes --wavelength, --plate_type, --shaken, --gain/],
    [['read', '--wavelength', '600', '--wells', '["A1"'], 2, /--wells is not JSON: /],
    [['read', '--wavelength', '600', '--plate', '8 rows'], 2, /--plate must be a JSON object such as .*, not 8 rows/],
    [['read', '--wavelength', '600', '--wells', 'A1,B2,A1000'], 2, /wells\[2\] must have at most 3 characters/],
    [['read', '--wavelength', '600', '--plate', '{"rows":"many"}'], 2, /plate\.rows must be a number/],
    [['read', '--wavelength', 'red'], 2, /--wavelength red is not a number/],
    [['read', '--wavelength', '600', '--shaken', 'no'], 2, /--shaken no is neither true nor false/],
    [['read', '--wavelength', '100'], 2, /wavelength must be at least 230/],
    [['read'], 2, /wavelength is missing/],
  ]
  for (const [args, code, words] of mistakes) t.match(await perform(...args), { code, stderr: words }, args.join(' '))
  t.match(await benchd(t.testdirName, ['devices', 'accept', 'reader-1'], env), { code: 0, stdout: /there is nothing to accept/ })
})
