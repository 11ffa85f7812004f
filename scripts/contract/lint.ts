// Checks the OpenAPI documents of the bench and of the coordinator with spectral and redocly. `node dist/scripts/contract/lint.js FOLDER`, where FOLDER is the prefix that npm
// installed both linters into. Fails for every problem that is not on the list of accepted warnings, and for every entry of the list that no
// linter reports any more. Prints `N passed, N failed`.

import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { type Accepted, type Problem, unexpected } from './problems.ts'

const top = fileURLToPath(new URL('../../..', import.meta.url))
const documents = ['src/http/openapi.json', 'src/http/openapi-lab.json']

/** The warnings that stay, each with its reason. */
const accepted: Record<string, readonly Accepted[]> = {
  spectral: [{ rule: 'info-contact', at: /^info$/, reason: 'each lab runs its own service, so there is no common contact address' }],
  redocly: [
    {
      rule: 'no-ambiguous-paths',
      at: /~1api~1keys~1requests~1\{request_id\}$/,
      reason: 'the two paths take different methods, and no key has the id `requests`',
    },
  ],
}

type Linter = { words: readonly string[]; problems(said: string): Problem[] }

const linters: Record<string, Linter> = {
  spectral: {
    words: ['lint', '--ruleset', 'scripts/contract/spectral.json', '--format', 'json', '--quiet'],
    problems: (said) => (JSON.parse(said) as Spectral[]).map(({ code, path, message }) => ({ rule: code, at: path.join('/'), message })),
  },
  redocly: {
    words: ['lint', '--config', 'scripts/contract/redocly.yaml', '--format', 'json'],
    problems: (said) =>
      (JSON.parse(said) as Redocly).problems.map(({ ruleId, location, message }) => {
        return { rule: ruleId, at: location[0]?.pointer ?? '', message }
      }),
  },
}

type Spectral = { code: string; path: (string | number)[]; message: string }
type Redocly = { problems: { ruleId: string; location: { pointer?: string }[]; message: string }[] }

const [folder = ''] = process.argv.slice(2)
let failed = 0
for (const [name, { words, problems }] of Object.entries(linters)) {
  const found = documents.flatMap((document) => problems(lint(name, [...words, document])))
  const faults = unexpected(found, accepted[name] ?? [])
  for (const fault of faults) console.log(`NOT OK - ${name}: ${fault}`)
  if (faults.length === 0) console.log(`ok - ${name}: ${documents.join(', ')}`)
  else failed += 1
}
console.log(`${Object.keys(linters).length - failed} passed, ${failed} failed`)
process.exitCode = failed ? 1 : 0

/** Returns the output of the linter. The linter ends with another status than 0 where it found errors, which its output tells. */
function lint(name: string, words: readonly string[]): string {
  const program = `${folder}/node_modules/.bin/${name}`
  const env = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' }
  const { stdout, stderr, error } = spawnSync(program, words, { cwd: top, env, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 })
  if (error) throw error
  if (!stdout.trimStart().match(/^[[{]/)) throw new Error(`${name} printed no report: ${stdout}${stderr}`)
  return stdout
}
