// Rewords messages of the API for a shell: commands instead of routes, options instead of members.

/** Matches an id, of which eight characters are shown. */
const id = '([0-9a-f]{8})[0-9a-f-]{28}'

const typed: readonly (readonly [RegExp, string])[] = [
  [
    /^there is nothing at \S+ of the coordinator\b.*$/,
    'that is the address of the coordinator of a lab, and the command is for a bench; name the address of a bench by --url',
  ],
  [/POST \/api\/devices\/([^/\s]+)\/initialize/g, 'benchd devices init $1'],
  [/POST \/api\/devices\/([^/\s]+)\/accept/g, 'benchd devices accept $1'],
  [new RegExp(`POST /api/queue/${id}/move \\{"start_at": …\\}`, 'g'), 'benchd queue move $1 --at TIME'],
  [new RegExp(`POST /api/queue/${id}/(start|move)`, 'g'), 'benchd queue $2 $1'],
  [new RegExp(`DELETE /api/queue/${id}`, 'g'), 'benchd queue remove $1'],
  [/POST \/api\/queue\/(resume|pause|clear)\b/g, 'benchd queue $1'],
  [/GET \/api\/queue\b(?!\/)/g, 'benchd queue list'],
  [new RegExp(`POST /api/executions/${id}/stop\\b`, 'g'), 'benchd runs stop $1'],
  [/GET \/api\/operator\/steps/g, 'benchd runs steps'],
  [/POST \/api\/operator\/steps\/([^/\s]+)\/confirm/g, 'benchd runs confirm $1'],
  [/give it as "barcode"/, 'add it as --barcode TEXT'],
  [/RETRY with "by" and "arm_is_off"/, 'benchd runs recover THREAD RETRY --by PERSON --arm-is-off'],
  [/say where it stands \(elsewhere\)/, 'say where it stands (--at POSITION)'],
  [/POST \/api\/incidents\/([^/\s]+)\/acknowledge/g, 'benchd incidents ack $1'],
  [new RegExp(`POST /api/incidents/${id}/extend \\{"seconds": …\\}`, 'g'), 'benchd runs extend $1 SECONDS'],
  [new RegExp(`/api/incidents/${id}/abort\\b`, 'g'), 'benchd runs abort-call $1'],
  [new RegExp(`/api/incidents/${id}/complete\\b`, 'g'), 'benchd runs complete-call $1'],
  [/PUT \/api\/labware\/([^/\s]+)\/location \{"position": null\}/g, 'benchd labware put $1 --off'],
  [/PUT \/api\/labware\/([^/\s]+)\/location/g, 'benchd labware put $1 PLACE'],
  [/DELETE \/api\/devices\/([^/\s]+)\/lock with X-Override: true/g, 'benchd devices unlock $1 --override'],
  [/X-Override: true/g, '--override'],
  [/^the header X-Operator must hold (a name of .* without control characters).*$/, 'BENCHD_OPERATOR must hold $1'],
  // The coordinator of a lab prefixes the bench, and its command takes the barcode as an operand.
  [/^([\w-]+: .*)say what was read as "barcode"/, '$1add the barcode that was read'],
  [/say what was read as "barcode"/, 'add what was read as --barcode TEXT'],
  [
    /the header X-API-Key, or Authorization: Bearer, must hold a valid key/,
    'the service wants a valid key, in BENCHD_API_KEY or after --key',
  ],
  [/\bunload it first, or load (\S+) with force\b/, 'benchd topology unload, or benchd topology load $1 --force'],
  [/\bunload with force\b/, 'benchd topology unload --force'],
  [/stop it once more with confirm\b/, 'stop it once more with --confirm'],
  [
    /([\w.-]+) was not taught ((?:(?! was not taught ).)*) \(teach them: POST \/api\/teachpoints\/bulk\)/g,
    '$1 was not taught $2 (benchd teachpoints import $1 FILE)',
  ],
  [/GET \/api\/system\/doctor\b/g, 'benchd doctor'],
  [/repeat the request with a key of scope admin to see the mistake/, 'benchd config check, or a key of scope admin, shows the mistake'],
  [/POST \/api\/system\/reload\b/g, 'benchd config reload'],
  [/POST \/api\/topology\/load\b/g, 'benchd topology load NAME'],
  [new RegExp(`decide \\(([a-z, ]+)\\): POST /api/lab/journeys/${id}/decide`), 'decide ($1): benchd lab decide $2 DECISION'],
  [/(?<![A-Z] |nothing at )\/api\/lab\/(journeys|tasks)\b(?!\/)/g, 'benchd lab $1'],
  [/(?<![A-Z] |nothing at )\/api\/executions\b(?!\/)/g, 'benchd runs list'],
  [/(?<![A-Z] |nothing at )\/api\/topologies\b(?!\/)/g, 'benchd topology list'],
  [/(?<![A-Z] |nothing at )\/api\/(devices|labware|incidents|workflows)\b(?!\/)/g, 'benchd $1 list'],
  // Ids are shortened, except in paths of the API. Every command accepts the short form.
  [new RegExp(`(?<![/\\w-])${id}(?![\\w-])`, 'g'), '$1'],
  [/^the query: since is not before until\b/, '--since is not before --until'],
  [/^the query: (\w+): it\b/, '--$1'],
  [/^the query: execution_id\b/, '--execution'],
  [/; the list of keys tells which there are$/, '; see: benchd key list'],
  [/^(no step .* waits for a confirmation: .* timed out)$/, '$1; see: benchd runs steps'],
  [
    /^there is nothing at \/api\/lab\/.*$/,
    'no coordinator of a lab answers there, but a bench; name the address of the coordinator by --url',
  ],
  // The user typed operands and options, not a body.
  [/^the body says either before or after which step the item comes$/, 'say where the step comes: --before ITEM or --after ITEM'],
  [/^the body(: |\.)/, ''],
  [/^coords\.(\w+) is missing/, '--$1 is missing'],
]

export function atShell(sentence: string): string {
  return typed.reduce((text, [words, command]) => text.replace(words, command), sentence)
}

/** Shortens an id: every command of `runs` and `incidents` accepts the short form. */
export function short(id: string): string {
  return id.slice(0, 8)
}
