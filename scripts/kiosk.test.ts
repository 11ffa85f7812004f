// The example of a kiosk: the key of the screen is made once, and the browser is opened with it after each reboot.

import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { test } from 'tap'

const unit = readFileSync(new URL('../../systemd/benchd-kiosk.service', import.meta.url), 'utf8')

/** The command of a line of the unit, as systemd hands it to the shell. */
function commandOf(line: 'ExecStartPre' | 'ExecStart'): string {
  const [, command] = new RegExp(`^${line}=/bin/sh -c '(.*)'$`, 'm').exec(unit)!
  return command!.replaceAll('$$', '$')
}

test('the first start makes a key, later ones open the page with it, and a key that was cut off is made anew', (t) => {
  const home = t.testdir({
    benchd: '#!/bin/sh\n[ -e "$HOME/down" ] && exit 69\necho made >>"$HOME/made"\necho "key bk_abcd1234_s-e_cret is shown once"\n',
    cage: '#!/bin/sh\necho "$@"\n',
    down: '',
  })
  const env = { PATH: `${home}:${process.env['PATH']}`, HOME: home, BENCH: 'http://127.0.0.1:8520' }
  const run = (line: Parameters<typeof commandOf>[0]) =>
    execFileSync('sh', ['-c', commandOf(line)], { env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
  for (const program of ['benchd', 'cage']) execFileSync('chmod', ['+x', `${home}/${program}`])
  t.throws(() => run('ExecStartPre'), 'the service is away')
  t.throws(() => readFileSync(`${home}/key`), { code: 'ENOENT' }, 'what is not whole is no key')
  execFileSync('rm', [`${home}/down`])
  for (const start of [1, 2]) {
    run('ExecStartPre')
    t.match(run('ExecStart'), /^-s -- chromium --kiosk .* http:\/\/127\.0\.0\.1:8520\/#k=bk_abcd1234_s-e_cret\n$/, `start ${start}`)
  }
  t.equal(readFileSync(`${home}/made`, 'utf8'), 'made\n', 'made once')
  writeFileSync(`${home}/key`, '')
  run('ExecStartPre')
  t.equal(readFileSync(`${home}/made`, 'utf8'), 'made\nmade\n')
  t.end()
})

test('no key stands in the unit, and nothing enables it', (t) => {
  t.notMatch(unit, /bk_[a-z0-9]{8}_/)
  t.notMatch(readFileSync(new URL('../../scripts/package', import.meta.url), 'utf8'), /enable.*kiosk/)
  t.end()
})
