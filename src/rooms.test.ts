// The rule of the doors: who may import whom, and which room a package belongs to.

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, relative, resolve } from 'node:path'
import { test } from 'tap'
import type TypeScript from 'typescript'

/** An import would first search the nine megabytes of this package for what they export. */
const ts: typeof TypeScript = createRequire(import.meta.url)('typescript')

const top = resolve(import.meta.dirname, '../..')

/** A file imports from its own room and from rooms to the left. */
const rooms = [
  'errors',
  'kit',
  'events',
  'devices',
  'drivers',
  'conformance',
  'config',
  'keys',
  'teachpoints',
  'cameras',
  'care',
  'notify',
  'fleet',
  'plugins',
  'workflow',
  'queue',
  'examples',
  'bench',
  'http',
  'mqtt',
  'mcp',
  'main',
  'cli',
  'coordinator',
  'clients',
  'web',
  'testing',
]

/** The rooms of `workflow`, likewise. The files beside the folders bind them together. */
const workflowRooms = ['state', 'plans', 'equipment', 'schedule', 'scheduler', 'threads', 'runs', 'records', 'recovery', '']

/** `cli` talks over the wire; these it loads when a command is called that cannot. */
const cliMayLoad = [
  'main',
  'drivers',
  'conformance',
  'devices',
  'events',
  'keys',
  'teachpoints',
  'workflow',
  'queue',
  'examples',
  'config',
  'cameras',
  'care',
  'notify',
  'fleet',
  'plugins',
  'mcp',
  'coordinator',
]
/** The reducer of the live state is that of the client: `top` and `status` show what the page shows. */
const cliMayImport = ['errors', 'kit', 'config', 'clients']
/** Tables: the commands of the coordinator, the operations from which the commands of devices are made, and what events are about. */
const cliMayRead = [
  'src/coordinator/commands.ts',
  'src/devices/operations.ts',
  'src/devices/reading_table.ts',
  'src/events/entity_types.ts',
]

/** Which rooms, or folders of them, a package may be imported from. */
const owners: Record<string, string[]> = {
  hono: ['src/http', 'src/coordinator/app', 'src/testing'],
  '@hono/node-server': ['src/http'],
  '@valibot/to-json-schema': ['src/kit/json_schema', 'scripts'],
  serialport: ['drivers/transports'],
  'i2c-bus': ['drivers/transports'],
  onoff: ['drivers/transports'],
  preact: ['src/web'],
  '@preact/signals': ['src/web'],
  uplot: ['src/web/chart'],
  'jsonc-parser': ['src/kit/json_edit'],
  '@dbos-inc/dbos-sdk': ['src/coordinator/journeys'],
  pg: ['src/coordinator/store'],
  '@nats-io/transport-node': ['src/fleet/wire', 'src/fleet/bounded_transport', 'src/testing/nats_accounts'],
  '@nats-io/jetstream': ['src/fleet/wire'],
  mqtt: ['src/mqtt/connection'],
  '@modelcontextprotocol/sdk': ['src/mcp/server', 'src/mcp/stdio', 'src/mcp/http_sessions'],
  valibot: ['src', 'drivers'],
  'node:fs': ['src/kit', 'src/events', 'src/config', 'drivers/transports'],
  'node:fs/promises': ['src/kit', 'src/events', 'src/config', 'drivers/transports'],
}

/** In tests and in `scripts` these may be used as well. */
const forTests = ['tap', 'fast-check', 'playwright-core', 'eventsource', 'typescript', '@modelcontextprotocol/sdk']

/** What the programs begin with, and what Node loads beside them. */
const entries = [
  'src/cli/main.ts',
  'src/kit/module_hooks.ts',
  'src/workflow/plans/author.ts',
  'src/plugins/author.ts',
  'src/plugins/host.ts',
  'drivers/module.ts',
  'src/conformance/module.ts',
  'src/clients/ts/benchd.ts',
  'src/web/main.tsx',
  'src/web/lab_main.tsx',
]
/** Files from which `npm run generate` makes what ships. */
const generators = [
  'src/coordinator/openapi.ts',
  'src/http/openapi.ts',
  'src/http/openapi_examples.ts',
  'src/http/openapi_schemas.ts',
  'src/http/openapi_words.ts',
  'src/http/routes.ts',
  'src/kit/json_schema.ts',
  'src/workflow/diagrams.ts',
]

/** The limits of a function, a class and a file, without tests and generated files. There are no exceptions. */
const mostLines = 80
const mostMembers = 60
const mostFileLines = 400

type Import = { file: string; to: string; dynamic: boolean; typeOnly: boolean }

const files = ['src', 'drivers'].flatMap((folder) => sourcesIn(join(top, folder)))
const imports = files.flatMap(importsOf)
/** Sources that people write, other than tests: generated files take their words from the routes. */
const written = files.filter((file) => !/\.test\./.test(file) && name(file) !== 'src/clients/ts/api.ts')
const inside = imports.filter(({ to }) => to.startsWith('.'))
const outside = imports.filter(({ to }) => !to.startsWith('.'))

test('nobody joins abort signals: on Node 20 each time leaves a trace in one that lasts, for good', (t) => {
  const joining = files.filter((file) => !isTest(file) && readFileSync(file, 'utf8').includes('AbortSignal.any('))
  t.same(joining.map(name), [], 'drivers/operation_runner.ts shows how one is aborted by several')
  t.end()
})

test('there is something to check', (t) => {
  t.ok(files.length > 20)
  t.ok(inside.length > 50)
  t.end()
})

test('the map names the rooms in this order', (t) => {
  const map = readFileSync(join(top, 'src/README.md'), 'utf8')
  t.same(/^\*\*The rule of the doors\.\*\* `([^`]+)`/m.exec(map)?.[1]?.split(' '), rooms)
  const rows = map.split('## Three walks')[0]!.matchAll(/^\| `(?:\.\.\/)?(\w+)(?:\/|\.ts)` /gm)
  t.same([...rows].map(([, room]) => room).sort(), rooms.toSorted())
  t.end()
})

test('nobody imports from a room to the right', (t) => {
  for (const { file, to, dynamic, typeOnly } of inside.filter(({ file }) => !isTest(file))) {
    const [from, target] = [roomOf(file), roomOf(resolve(dirname(file), to))]
    if (from === target) continue
    const mayCli = () =>
      cliMayImport.includes(target) ||
      cliMayRead.includes(name(resolve(dirname(file), to))) ||
      ((dynamic || typeOnly) && cliMayLoad.includes(target))
    const allowed = from === 'cli' ? mayCli() : rank(target) < rank(from)
    t.ok(allowed, `${name(file)} (${from}) imports ${to} (${target})`)
  }
  t.end()
})

test('in workflow nobody imports from a room to the right, types included', (t) => {
  const imports = inside.filter(({ file }) => roomOf(file) === 'workflow' && !isTest(file))
  t.ok(imports.length > 100)
  for (const { file, to } of imports) {
    const target = resolve(dirname(file), to)
    if (roomOf(target) === 'workflow') t.ok(workflowRank(target) <= workflowRank(file), `${name(file)} imports ${to}`)
  }
  t.end()
})

test('what no program uses is a test, and lies in src/testing if it has no test in its name', (t) => {
  const reached = new Set<string>()
  const visit = (file: string) => {
    if (reached.has(file)) return
    reached.add(file)
    for (const { to } of inside.filter((one) => one.file === file)) visit(resolve(dirname(file), to))
  }
  for (const file of entries) visit(join(top, file))
  const unused = files.filter((file) => !isTest(file) && !reached.has(file) && !file.endsWith('.d.ts')).map(name)
  t.same(unused.sort(), generators)
  t.end()
})

test('the page knows the service through the client alone, and the clients know nothing of it', (t) => {
  const knows: Record<string, string[]> = { clients: ['clients'], web: ['clients', 'web'] }
  for (const { file, to } of inside.filter(({ file }) => !isTest(file))) {
    const target = roomOf(resolve(dirname(file), to))
    t.ok(knows[roomOf(file)]?.includes(target) ?? true, `${name(file)} imports ${to}`)
  }
  t.end()
})

test('only main and coordinator know http', (t) => {
  for (const { file, to } of inside.filter(({ file }) => !isTest(file))) {
    if (roomOf(resolve(dirname(file), to)) !== 'http') continue
    t.ok(['http', 'mqtt', 'mcp', 'main', 'coordinator'].includes(roomOf(file)), `${name(file)} imports ${to}`)
  }
  t.end()
})

test('nothing of the fleet is loaded before the configuration or a command asks for it, and nothing on the way of a stop can ask', (t) => {
  const asking = inside.filter(({ file, to, typeOnly }) => {
    return !typeOnly && !isTest(file) && roomOf(file) !== 'fleet' && roomOf(resolve(dirname(file), to)) === 'fleet'
  })
  t.same([...new Set(asking.filter(({ dynamic }) => !dynamic).map(({ file }) => roomOf(file)))], ['coordinator'])
  t.same([...new Set(asking.filter(({ dynamic }) => dynamic).map(({ file }) => name(file)))].sort(), [
    'src/bench/bench.ts',
    'src/cli/lab.ts',
    'src/coordinator/lab_demo.ts',
  ])
  // The coordinator of a lab, and with it DBOS and the client of PostgreSQL, comes with the commands of `benchd lab` alone.
  const ofCoordinator = inside.filter(({ file, to, typeOnly }) => {
    return !typeOnly && !isTest(file) && roomOf(file) !== 'coordinator' && roomOf(resolve(dirname(file), to)) === 'coordinator'
  })
  t.same([...new Set(ofCoordinator.map(({ file, to, dynamic }) => `${name(file)} ${to} ${dynamic}`))].sort(), [
    'src/cli/lab.ts ../coordinator/commands.ts false',
    'src/cli/lab.ts ../coordinator/lab_demo.ts true',
  ])
  const commands = reachedAtOnce('src/coordinator/commands.ts').filter((file) => roomOf(file) === 'coordinator')
  t.same(commands.map(name), ['src/coordinator/commands.ts'], 'the commands load the coordinator when `lab serve` is called')
  // Of the fleet itself `bench/bench.ts` opens, closes and shows it; the routes of a stop, the devices and the drivers have no name for it.
  const naming = files.filter((file) => !isTest(file) && /\bfleet\b/.test(readFileSync(file, 'utf8'))).map(name)
  t.same(
    naming.filter((file) => /^(drivers|src\/(devices|events))\//.test(file) || /^src\/http\/device(s|_commands)\.ts$/.test(file)),
    [],
  )
  t.end()
})

test('the start of a bench loads nothing of the workflows, MQTT and MCP', (t) => {
  const reached = reachedAtOnce('src/cli/serve.ts', 'src/main.ts', 'src/config.ts')
  t.ok(reached.includes(join(top, 'src/http/device_commands.ts')))
  t.same(reached.filter((file) => ['workflow', 'queue', 'mqtt', 'mcp'].includes(roomOf(file))).map(name), [])
  t.end()
})

test('a file of routes names the rooms that it uses; only the skin as a whole knows the whole bench', (t) => {
  const http = files.filter((file) => roomOf(file) === 'http' && !isTest(file))
  const knowing = http.filter((file) =>
    /import (type )?\{[^}]*\bBench\b[^}]*\} from '\.\.\/bench\/bench\.ts'/.test(readFileSync(file, 'utf8')),
  )
  t.same(knowing.map(name), ['src/http/app.ts', 'src/http/run_routes.ts', 'src/http/service_routes.ts'])
  t.end()
})

test('imports go round in no circle', (t) => {
  const graph = new Map<string, string[]>()
  for (const { file, to, typeOnly } of inside) {
    if (!typeOnly) graph.set(file, [...(graph.get(file) ?? []), resolve(dirname(file), to)])
  }
  t.same(circleIn(graph), [])
  t.end()
})

test('no files import each other in a circle, type imports included', (t) => {
  const graph = new Map<string, Set<string>>()
  for (const { file, to } of inside) graph.set(file, (graph.get(file) ?? new Set()).add(resolve(dirname(file), to)))
  t.same([...inCircles(graph)].map(name).sort(), [])
  t.end()
})

test(`no other function has more than ${mostLines} lines, comments and blank lines included`, (t) => {
  // The callback of a test is a list of steps, not a function that others call, so files of tests are left out.
  const long = files.filter((file) => !isTest(file)).flatMap((file) => longFunctionsIn(name(file), readFileSync(file, 'utf8')))
  t.same(
    long.map(({ named, lines }) => `${named} has ${lines} lines`),
    [],
  )
  t.end()
})

test(`no class has more than ${mostMembers} members, and no file more than ${mostFileLines} lines`, (t) => {
  const sources = written.filter((file) => roomOf(file) !== 'testing')
  const classes = sources
    .flatMap((file) => classesIn(name(file), readFileSync(file, 'utf8')))
    .filter(({ members }) => members > mostMembers)
  t.same(classes.map(({ named }) => named).sort(), [], 'split these classes by what they hold')
  const long = sources.filter((file) => readFileSync(file, 'utf8').trimEnd().split('\n').length > mostFileLines)
  t.same(long.map(name).sort(), [], 'part these files at a seam')
  t.end()
})

test('a doc comment names its subject: none begins with a bare What, It or Those', (t) => {
  t.ok(written.length > 500)
  for (const file of written) for (const first of bareOpenings(readFileSync(file, 'utf8'))) t.fail(`${name(file)}: ${first}`)
  t.end()
})

test('a function returns: no sentence of a doc comment says that one answers a value', (t) => {
  for (const file of written) for (const words of answeringFunctions(readFileSync(file, 'utf8'))) t.fail(`${name(file)}: ${words}`)
  t.end()
})

test('each package is used by the room that owns it', (t) => {
  for (const { file, to } of outside) {
    const pack = packageOf(to)
    if (isTest(file) && (forTests.includes(pack) || pack.startsWith('node:'))) continue
    const owned = owners[pack]
    if (!owned) t.ok(pack.startsWith('node:'), `${name(file)} imports ${to}, which no room owns`)
    else
      t.ok(
        owned.some((owner) => name(file).startsWith(owner)),
        `${name(file)} imports ${to}, which belongs to ${owned.join(', ')}`,
      )
  }
  t.end()
})

test('the check finds what it is there to find', (t) => {
  const comments = '/** What it is. */\nconst a = 1 /** Its size. */\n/**\n * Those of it.\n */\n/** Returns it. */\n/** Whatsoever. */'
  t.same(bareOpenings(comments), ['What it is.', 'Its size.', 'Those of it.'])
  t.same(bareOpenings('/** Where it is. */\n/** Once in a run. */\n/** Inside of it. */'), ['Where it is.', 'Once in a run.'])
  t.same(answeringFunctions('/** Takes it. Answers whether it was there. */\n/** Answers as a shaker does. */\n/** The answers. */'), [
    '. Answers whether it was there. /',
  ])
  t.same(classesIn('x.ts', 'class A { a = 1; #b() {} constructor() {} }'), [{ named: 'x.ts A', members: 3 }])
  t.ok(rank('http') > rank('devices'))
  t.equal(roomOf(join(top, 'src/http/app.ts')), 'http')
  t.equal(roomOf(join(top, 'src/errors.ts')), 'errors')
  t.equal(roomOf(join(top, 'drivers/transports/line.ts')), 'drivers')
  t.same(importsIn('x.ts', "import { a } from './a.ts'\nimport type { B } from 'b'\nawait import('./c.ts')\nexport { d } from './d.ts'"), [
    { file: 'x.ts', to: './a.ts', dynamic: false, typeOnly: false },
    { file: 'x.ts', to: 'b', dynamic: false, typeOnly: true },
    { file: 'x.ts', to: './d.ts', dynamic: false, typeOnly: false },
    { file: 'x.ts', to: './c.ts', dynamic: true, typeOnly: false },
  ])
  t.same(
    [
      ...inCircles(
        new Map([
          ['a', ['b']],
          ['b', ['c', 'd']],
          ['c', ['b']],
        ]),
      ),
    ],
    ['b', 'c'],
  )
  const body = '\n'.repeat(mostLines)
  t.same(longFunctionsIn('x.ts', `function short() {${body.slice(1)}}`), [])
  t.same(longFunctionsIn('x.ts', `class A { #long() {${body}} }`), [{ named: 'x.ts #long', lines: 81 }])
  t.same(longFunctionsIn('x.ts', `const long = () => {${body}}`), [{ named: 'x.ts long', lines: 81 }])
  t.same(
    circleIn(
      new Map([
        ['a', ['b']],
        ['b', ['c']],
        ['c', ['b']],
      ]),
    ),
    ['b', 'c', 'b'],
  )
  t.end()
})

function sourcesIn(folder: string): string[] {
  if (!existsSync(folder)) throw new Error(`${folder} is missing; the test runs from dist/src`)
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return sourcesIn(path)
    return /\.tsx?$/.test(entry.name) && entry.name !== 'rooms.test.ts' ? [path] : []
  })
}

function importsOf(file: string): Import[] {
  return importsIn(file, readFileSync(file, 'utf8'))
}

function importsIn(file: string, text: string): Import[] {
  const still = [...text.matchAll(/^(?:import|export)\s+(type\s+)?(?:[^'"]*?\sfrom\s+)?'([^']+)'/gm)]
  const called = [...text.matchAll(/(typeof\s+)?\bimport\('([^']+)'\)(\.\w)?/g)]
  return [
    ...still.map(([, type, to = '']) => ({ file, to, dynamic: false, typeOnly: type !== undefined })),
    ...called.map(([, type, to = '', member]) => ({ file, to, dynamic: true, typeOnly: type !== undefined || member !== undefined })),
  ]
}

function roomOf(path: string): string {
  const [folder, room = ''] = relative(top, path).split('/')
  return folder === 'drivers' ? 'drivers' : room.replace(/\.ts$/, '')
}

/** Returns the files that are loaded with these. */
function reachedAtOnce(...starts: string[]): string[] {
  const reached = new Set<string>()
  const visit = (file: string) => {
    if (reached.has(file)) return
    reached.add(file)
    for (const { to } of inside.filter((one) => one.file === file && !one.dynamic && !one.typeOnly)) visit(resolve(dirname(file), to))
  }
  for (const file of starts) visit(join(top, file))
  return [...reached]
}

function workflowRank(path: string): number {
  const [first = '', ...more] = relative(join(top, 'src/workflow'), path).split('/')
  const room = first.replace(/\.ts$/, '')
  return workflowRooms.indexOf(more.length > 0 || workflowRooms.includes(room) ? room : '')
}

function rank(room: string): number {
  const at = rooms.indexOf(room)
  if (at < 0) throw new Error(`${room} is no room; add it to the list, or put the file where it belongs`)
  return at
}

function isTest(file: string): boolean {
  return /\.test\.(\w+\.)?ts$/.test(file) || roomOf(file) === 'testing'
}

function name(file: string): string {
  return relative(top, file)
}

function packageOf(to: string): string {
  if (to.startsWith('node:')) return to
  return to
    .split('/')
    .slice(0, to.startsWith('@') ? 2 : 1)
    .join('/')
}

function circleIn(graph: ReadonlyMap<string, readonly string[]>): string[] {
  const done = new Set<string>()
  const visit = (file: string, path: readonly string[]): string[] => {
    if (path.includes(file)) return [...path.slice(path.indexOf(file)), file]
    if (done.has(file)) return []
    done.add(file)
    for (const next of graph.get(file) ?? []) {
      const circle = visit(next, [...path, file])
      if (circle.length) return circle
    }
    return []
  }
  for (const file of graph.keys()) {
    const circle = visit(file, [])
    if (circle.length) return circle
  }
  return []
}

/** Returns the files from which imports lead back to the file itself. */
function inCircles(graph: ReadonlyMap<string, Iterable<string>>): Set<string> {
  const reachableFrom = (start: string) => {
    const reached = new Set<string>()
    const next = [start]
    for (let file = next.pop(); file !== undefined; file = next.pop()) {
      for (const to of graph.get(file) ?? []) if (!reached.has(to)) reached.add(to) && next.push(to)
    }
    return reached
  }
  return new Set([...graph.keys()].filter((file) => reachableFrom(file).has(file)))
}

/** Finds the doc comments that begin with a word whose meaning the reader would have to look for. */
function bareOpenings(text: string): string[] {
  const bare =
    'What|Whatever|Who|Whoever|Whom|Whose|Where|Why|It|Its|Of|By|In|Once|One|Those|They|Them|That|Such|So|As|Also|Only|Else|Then|The same'
  return [...text.matchAll(new RegExp(`/\\*\\*[\\s*]+((?:${bare})\\b.*?)\\s*(?:\\*/|$)`, 'gm'))].map(([, first = '']) => first)
}

/** Finds sentences such as "Answers whether it was there." An instrument, a server and a simulator answer; a function returns. */
function answeringFunctions(text: string): string[] {
  const value = 'whether|what|where|why|how|the|its|it|in words|false|true|undefined|`'
  const comments = [...text.matchAll(/\/\*\*(?:(?!\*\/)[\s\S])*\*\//g)].map(([comment]) => comment.replace(/\s+\*? ?/g, ' '))
  return comments.flatMap((comment) => comment.match(new RegExp(`(?:/\\*\\*|[.;]) Answers (?:${value})(?!\\w).*`)) ?? [])
}

/** Finds the classes of a file, and counts the members of each. */
function classesIn(file: string, text: string): { named: string; members: number }[] {
  if (!text.includes('class ')) return []
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest)
  const found: { named: string; members: number }[] = []
  const visit = (node: TypeScript.Node): void => {
    if (ts.isClassLike(node)) found.push({ named: `${file} ${node.name?.text}`, members: node.members.length })
    ts.forEachChild(node, visit)
  }
  visit(source)
  return found
}

/** Finds the functions over the limit, named by their file and their own name or that of the variable that holds them. */
function longFunctionsIn(file: string, text: string): { named: string; lines: number }[] {
  if (text.split('\n').length <= mostLines) return []
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest)
  const found: { named: string; lines: number }[] = []
  const lineOf = (position: number) => source.getLineAndCharacterOfPosition(position).line
  const visit = (node: TypeScript.Node, parent: TypeScript.Node): void => {
    const lines = lineOf(node.end) - lineOf(node.getStart(source)) + 1
    if (lines <= mostLines) return
    if (ts.isFunctionLike(node) && 'body' in node && node.body) found.push({ named: `${file} ${nameOf(node, parent).trim()}`, lines })
    ts.forEachChild(node, (child) => visit(child, node))
  }
  ts.forEachChild(source, (child) => visit(child, source))
  return found

  function nameOf(node: TypeScript.SignatureDeclaration, parent: TypeScript.Node): string {
    const named = node.name ?? (ts.isVariableDeclaration(parent) || ts.isPropertyAssignment(parent) ? parent.name : undefined)
    return named?.getText(source) ?? (ts.isConstructorDeclaration(node) ? 'constructor' : 'a function without a name')
  }
}
