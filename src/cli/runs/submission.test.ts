// Sheets of samples and variables of workflows, as a person types them.

import { writeFileSync } from 'node:fs'
import { test } from 'tap'
import { demo } from '../../testing/cli.ts'

test('a sheet is printed to be filled in, refused with each mistake on a line, and submitted', async (t) => {
  const { home, run, json } = await demo(t)
  const file = `${home}/plates.csv`
  t.match(await run('workflows', 'samples', 'seal-and-spin'), { code: 0, stdout: 'group,barcode,speed,temperature\ng1,,500,165\n' })
  writeFileSync(file, 'group;barcode;speed\r\na;P-1;fast\r\nb;P-1;700\r\n')
  for (const verb of ['submit', 'simulate'])
    t.match(await run('runs', verb, 'seal-and-spin', '--mode', 'PURE_SIM', '--samples', file), {
      code: 2,
      stdout: '',
      stderr:
        'benchd: samples: 2 mistakes:\n' +
        '  row 2, column C (speed): speed must be a number, not "fast"\n' +
        '  row 3, column B (barcode): the barcode P-1 is in row 2 too; labware with a barcode exists once\n',
    })
  t.match(await run('runs', 'submit', 'seal-and-spin', '--samples', file, '--groups', '2'), { code: 2, stderr: /leave out --groups/ })
  t.match(await run('runs', 'submit', 'seal-and-spin', '--samples', `${home}/none.csv`), { code: 3, stderr: /cannot be read/ })
  writeFileSync(file, Buffer.from('group;barcode;speed\r\na;Plä-1;700\r\n', 'latin1'))
  const { execution_id } = await json<{ execution_id: string }>('runs', 'submit', 'seal-and-spin', '--mode', 'PURE_SIM', '--samples', file)
  t.match(await run('runs', 'follow', execution_id), { code: 0, stdout: /shaking on shaker-1, 700 rpm/ })
  t.match((await run('runs', 'show', execution_id)).stdout, /THREAD .*GROUP +BARCODE[\s\S]*plate .* a +Plä-1/)
  t.match((await run('runs', 'timeline', execution_id)).stdout, /THREAD .*\nplate \(Plä-1, a\) /)
})

test('the variables of a workflow are listed with type, unit and limits', async (t) => {
  const { run } = await demo(t)
  t.match(await run('workflows', 'variables', 'seal-and-spin'), {
    code: 0,
    stdout: /^NAME +TYPE +UNIT +ALLOWED +DEFAULT +DESCRIPTION\nspeed +integer +rpm +500 +Of the shaker\n/,
  })
  t.match(await run('runs', 'submit', 'seal-and-spin', '--var', 'speed=1.5'), { code: 2, stderr: /speed must be a whole number, not 1.5/ })
})
