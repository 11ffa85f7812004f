// `benchd lab init`: what it writes, and the commands that it prints for the computers of the lab.

import { test } from 'tap'
import { benchd } from '../testing/cli.ts'

test('lab init prints what to do on each computer, for the folders that were named; a bench that is added later needs less', async (t) => {
  const home = t.testdir({})
  const folder = `${home}/lab`
  const init = (...words: string[]) => benchd(home, ['lab', 'init', folder, ...words])
  t.match(await init('--bench', 'one'), { code: 2, stderr: /has no lab yet; name it with --name/ })
  const made = await init('--name', 'floor-2', '--bench', 'one', '--host', 'broker.lab', '--store', '/srv/events')
  t.match(made, { code: 0, stdout: /On broker\.lab, the computer of the broker:/ })
  t.match(
    made.stdout,
    `sudo chmod o+x ${folder} ${folder}/tls && sudo chown nats ${folder}/tls/key.pem && sudo install -d -m 0700 -o nats /srv/events`,
  )
  t.match(made.stdout, 'sudo install -m 0640 -g benchd one.seed cert.pem /etc/benchd/fleet')
  const added = await init('--bench', 'two')
  t.match(added, { code: 0, stdout: /added 1 benches.*reload nats-server.*On two, with two\.seed/s })
  t.notMatch(added.stdout, /apt install|one\.seed/)
  t.match(await init('--bench', 'three', '--port', '4223'), { code: 5, stderr: /has a lab already/ })
})

test('where no coordinator runs, the commands of a lab name what starts one', async (t) => {
  const home = t.testdir({ none: {} })
  const why = await benchd(home, ['lab', 'why', 'P-1', '--data-dir', `${home}/none`])
  t.match(why, { code: 69, stderr: /no service runs on it; start one \((npx )?benchd lab serve, (npx )?benchd lab demo\)/ })
})
