// The folder of the state where another user owns it.

import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { test } from 'tap'

/** Of nobody who is in a list of users. */
const other = { uid: 54_321, gid: 54_322 }
const module = new URL('folder.js', import.meta.url)
const program = `
const { makePrivateFolder } = await import(${JSON.stringify(module)})
for (const path of JSON.parse(process.env.PATHS)) console.log(await makePrivateFolder(path).then(() => 'made', ({ code, message }) => code + ': ' + message))
`
function asOther(paths: readonly string[]) {
  return spawnSync(process.execPath, ['--input-type=module', '-e', program], {
    ...other,
    env: { PATHS: JSON.stringify(paths) },
    encoding: 'utf8',
  })
}

const cannot =
  process.geteuid?.() !== 0
    ? 'only root can do this for another user'
    : asOther([]).status !== 0
      ? 'Node or the program lies where other users may not read it'
      : false

test('a data folder of another user is refused with its owner and the command that gives it away', { skip: cannot }, (t) => {
  const top = mkdtempSync(`${tmpdir()}/benchd-folder-`)
  t.teardown(() => rmSync(top, { recursive: true }))
  chmodSync(top, 0o755)
  const [data, fresh, hidden] = [`${top}/data`, `${top}/fresh`, `${top}/data/hidden`]
  mkdirSync(data, { mode: 0o700 })
  const us = 'config: the user 54321 may not'
  const another = 'choose another with --data-dir'
  const { stdout } = asOther([data, fresh, hidden])
  t.same(stdout.trim().split('\n'), [
    `${us} write in the data folder ${data}, which belongs to the user 0; if it is a data folder of benchd: sudo chown -R 54321 ${data}; or ${another}`,
    `${us} make the data folder ${fresh} in ${top}, which belongs to the user 0: sudo install -d -m 700 -o 54321 ${fresh}; or ${another}`,
    `${us} make the data folder ${hidden} in ${data}, which belongs to the user 0; ${another}`,
  ])
  chmodSync(data, 0o755)
  const refused = `${us} write in the data folder ${data}, which belongs to the user 0`
  const said = () => asOther([data]).stdout
  t.equal(said(), `${refused}: sudo chown -R 54321 ${data}; or ${another}\n`, 'an empty one')
  writeFileSync(`${data}/bin`, '')
  t.equal(said(), `${refused}, and is no data folder of benchd; ${another}\n`, 'as /usr/local')
  writeFileSync(`${data}/keys.json`, '')
  t.equal(said(), `${refused}: sudo chown -R 54321 ${data}; or ${another}\n`, 'one of a service')
  chmodSync(data, 0o777)
  t.equal(asOther([data, hidden]).stdout, 'made\nmade\n')
  t.end()
})
