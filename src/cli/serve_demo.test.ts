// The commands that the demo prints, typed as they stand.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { type Test, test } from 'tap'
import { fakeProgram, program, running } from '../testing/cli.ts'
import { noCurl } from '../testing/curl.ts'

/** A demo, the commands of its welcome, and a second terminal that has run the first of them. */
async function welcomed(t: Test) {
  const home = t.testdir({})
  const PATH = fakeProgram(`${home}/bin`, 'benchd', `exec '${process.execPath}' '${program}' "$@"`)
  const demo = running(t, home, ['demo', '--port', '0', '--time-scale', '50'], { PATH })
  await demo.line(/^Three things to try:$/)
  const exported = await demo.line(/^ {2}(export .*)$/)
  const commands: string[] = []
  const curl = /One of them: (curl .*)$/
  while (!curl.test(commands.at(-1) ?? '')) commands.push(await demo.line(/^ {2}(benchd .*)$|^(Every request .*)$/))
  commands.push(curl.exec(commands.pop()!)![1]!)
  demo.child.stdout.resume()
  const type = (command: string) =>
    spawn('bash', ['-c', `${exported}\n${command}`], { env: { HOME: home, PATH }, stdio: ['ignore', 'pipe', 'pipe'] })
  return { commands, type }
}

test('every command that the demo prints works as it stands, and the run that it breaks says what to type next', {
  skip: noCurl,
}, async (t) => {
  const { commands, type } = await welcomed(t)
  const ended = async (command: string) => {
    const child = type(command)
    const [[code], stdout, stderr] = await Promise.all([once(child, 'close'), text(child.stdout), text(child.stderr)])
    return { code, stdout, stderr }
  }
  const shows: [command: string, code: number, stdout: RegExp][] = [
    ['benchd runs simulate seal-and-spin', 0, /seal-and-spin +completes/],
    ['benchd sim fault sealer-1 jam', 0, /sealer-1/],
    ['benchd runs submit seal-and-spin --follow', 6, /incident: .*sealer-1/],
    ['benchd sim mend sealer-1', 0, /^sealer-1 is mended\n$/],
    ['benchd runs why seal-and-spin', 0, /benchd devices init sealer-1\n[\s\S]*benchd runs recover \w{8} DECISION/],
    ['curl -H "X-API-Key: $BENCHD_API_KEY" $BENCHD_URL/api/devices', 0, /^\{"devices":.*\n$/],
  ]
  t.same(
    commands,
    shows.map(([command]) => command),
  )
  const said: string[] = []
  for (const [command, code, stdout] of shows) {
    const its = await ended(command)
    t.match(its, { code, stdout }, command)
    said.push(its.stdout + its.stderr)
  }
  t.match(said[2], /what to do: benchd runs why \w{8}/)
})
