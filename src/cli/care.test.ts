// Backups, their return, the bundle for a support mail and the log, as a person at a shell has them.

import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { type Test, test } from 'tap'
import { kindOf } from '../care/backup_files.ts'
import { verifyChain } from '../kit/chained_lines.ts'
import { benchd, demo, fakeProgram, served, spawned } from '../testing/cli.ts'

const good = {
  format: 1,
  system_id: 'bench-7',
  listen: { host: '127.0.0.1', port: 0 },
  devices: [
    { device_id: 'arm-1', driver: 'external' },
    { device_id: 'shaker-1', driver: 'bioshake', transport: { kind: 'simulated' } },
  ],
}
const home_point = { device_id: 'arm-1', coord_type: 'cartesian', coords: { x: 1, y: 2, z: 3, yaw: 0, pitch: 0, roll: 0 } }

function prepared(t: Test, config: object = good) {
  t.teardown(() => undefined)
  const home = t.testdir({ 'config.json': JSON.stringify(config), stick: {} })
  const places = ['--config', `${home}/config.json`, '--data-dir', `${home}/data`]
  return { home, places, here: ['--data-dir', `${home}/data`], serve: () => served(t, home) }
}

async function teach(url: string, key: string, name: string): Promise<void> {
  const headers = { 'X-API-Key': key, 'Content-Type': 'application/json' }
  const answer = await fetch(`${url}/api/teachpoints`, { method: 'POST', headers, body: JSON.stringify({ ...home_point, name }) })
  if (answer.status !== 201) throw new Error(await answer.text())
}

async function taught(url: string, key: string): Promise<string[]> {
  const answer = await fetch(`${url}/api/teachpoints?device_id=arm-1`, { headers: { 'X-API-Key': key } })
  return ((await answer.json()) as { teachpoints: { name: string }[] }).teachpoints.map(({ name }) => name)
}

test('a backup goes to a stick beside the running service, and comes back when that has ended', async (t) => {
  const { home, places, here, serve } = prepared(t)
  const first = await serve()
  const key = (await benchd(home, ['key', 'create', '--name', 'a', '--scope', 'admin', ...here])).stdout.trim()
  await teach(first.url, key, 'then')
  const made = await benchd(home, ['backup', `${home}/stick`, ...here])
  t.equal(made.code, 0, made.stderr)
  const path = made.stdout.trim()
  t.match(path, /\/stick\/benchd-asked-.*\.tar\.gz$/)
  t.equal(statSync(path).mode & 0o777, 0o600)
  t.same(readdirSync(`${home}/data/backups`), [], 'it is not kept twice')
  t.match(await benchd(home, ['backup', path, ...here]), { code: 5, stderr: /is there already/ })
  t.match(await benchd(home, ['backup', 'restore', ...here]), { code: 2, stderr: /there is no command backup restore; .* benchd restore/ })
  const kept = await benchd(home, ['backup', '--json', ...here])
  t.match(JSON.parse(kept.stdout), { name: /^asked-/ })
  t.equal(JSON.parse(kept.stdout).path, `${home}/data/backups/${JSON.parse(kept.stdout).name}`)
  t.match(await benchd(home, ['backup', 'list', ...here]), { code: 0, stdout: /asked-.*\.tar\.gz/ })
  const { name } = JSON.parse(kept.stdout)
  t.match(await benchd(home, ['restore', name, ...places, '--dry-run']), { code: 0 }, 'a kept backup is restored by its name')
  t.match(await benchd(home, ['restore', `x${name}`, ...places, '--dry-run']), {
    code: 3,
    stderr: /there is no such file .* backups in .*data; see: benchd backup list/,
  })
  t.match((await benchd(home, ['backup', ...here])).stdout, new RegExp(`^${home}/data/backups/asked-.*\\.tar\\.gz\n$`))
  const far = ['--url', first.url, '--key', key]
  t.match(await benchd(home, ['backup', `${home}/far.tar.gz`, ...far]), { code: 0, stdout: /far\.tar\.gz/ })

  await teach(first.url, key, 'since')
  const again = ['restore', path, ...places]
  t.match(await benchd(home, [...again, '--dry-run']), { code: 0, stdout: /replaced +teachpoints\.json/ })
  t.match(await benchd(home, [...again, '--yes']), { code: 75, stderr: /a benchd runs on the data folder/ })
  t.same(await taught(first.url, key), ['since', 'then'])
  await first.close()

  t.match(await benchd(home, again), { code: 2, stderr: /--yes/ })
  const restored = await benchd(home, [...again, '--yes', '--json'])
  t.equal(restored.code, 0, restored.stderr)
  const { before, changes } = JSON.parse(restored.stdout)
  t.match(before, /^before-restore-/)
  t.ok(existsSync(`${home}/data/${before}/teachpoints.json`))
  t.match(
    changes.find(({ name }: { name: string }) => name === 'keys.json'),
    { change: 'left alone' },
  )
  const second = await serve()
  t.same(await taught(second.url, key), ['then'])
  const audit = readFileSync(`${home}/data/audit.jsonl`, 'utf8')
  t.match(audit, /benchd restore of 20/)
  t.match(audit, /POST \/api\/system\/backups/)
  await second.close()
})

test('a whole bench moves to another machine, keys, runs, events and configuration', async (t) => {
  const { home, places, here, serve } = prepared(t)
  const first = await serve()
  const key = (await benchd(home, ['key', 'create', '--name', 'a', '--scope', 'admin', ...here])).stdout.trim()
  await teach(first.url, key, 'then')
  await first.close()
  const path = `${home}/it.tar.gz`
  t.match(await benchd(home, ['backup', path, '--with-keys', '--with-events', ...places]), { code: 0, stdout: `${path}\n` })

  const there = ['--config', `${home}/new/config.json`, '--data-dir', `${home}/new/data`]
  const moved = await benchd(home, ['restore', path, '--all', '--with-keys', '--with-config', '--yes', ...there])
  t.equal(moved.code, 0, moved.stderr)
  t.same(JSON.parse(readFileSync(`${home}/new/config.json`, 'utf8')), good)
  const service = await served(t, `${home}/new`)
  t.same(await taught(service.url, key), ['then'])
  t.match((await verifyChain(`${home}/new/data/audit.jsonl`)).broken, [])
})

test('a restore has this computer start no program of a bridge unless that is asked for', async (t) => {
  const reader = {
    device_id: 'reader-1',
    driver: 'bridge',
    type: 'reader',
    transport: { kind: 'bridge', command: ['python3', '/tmp/evil.py'] },
  }
  const { home, places } = prepared(t, { ...good, devices: [...good.devices, reader] })
  mkdirSync(`${home}/data`)
  const path = `${home}/it.tar.gz`
  t.match(await benchd(home, ['backup', path, ...places]), { code: 0 })
  const config = `${home}/new.json`
  const restored = (...more: string[]) =>
    benchd(home, ['restore', path, '--with-config', '--yes', '--config', config, '--data-dir', `${home}/new`, ...more])
  const refused =
    /nothing is restored.*programs of bridges.*:\n {2}reader-1: python3 \/tmp\/evil\.py\nif they are to be started: --with-commands/
  t.match(await restored(), { code: 4, stderr: refused })
  t.match(await restored('--dry-run'), { code: 4, stderr: refused })
  t.notOk(existsSync(config))
  writeFileSync(
    config,
    JSON.stringify({ ...good, devices: [{ ...reader, transport: { kind: 'bridge', command: ['python3', '/tmp/good.py'] } }] }),
  )
  t.match(await restored(), { code: 4 }, 'it starts another one here')
  t.match(await restored('--with-commands'), { code: 0 })
  t.match(readFileSync(config, 'utf8'), 'evil')
  t.match(await restored(), { code: 0 }, 'it starts that here already')
})

test('every file that a service makes of its state has a place in backups', async (t) => {
  const { home, service, ask, run } = await demo(t)
  t.match(await run('runs', 'submit', 'seal-and-spin'), { code: 0 })
  await ask('PUT', '/api/devices/shaker-1/lock', { owner: 'me', ttl_s: 60 })
  await ask('POST', '/api/stop')
  t.match(await run('backup'), { code: 0 })
  const names = () =>
    readdirSync(`${home}/data`, { recursive: true, withFileTypes: true })
      .filter((entry) => !entry.isDirectory())
      .map((entry) => `${entry.parentPath}/${entry.name}`.slice(`${home}/data/`.length))
  const meanwhile = names()
  await service.close()
  const all = new Set([...meanwhile, ...names()])
  t.ok(all.size > 10, [...all].join(' '))
  t.same(
    [...all].filter((name) => kindOf(name) === 'unknown'),
    [],
  )
})

test('a damaged backup, or none, is refused and changes nothing', async (t) => {
  const { home, places, here } = prepared(t)
  await benchd(home, ['key', 'create', '--name', 'a', '--scope', 'admin', ...here])
  const path = `${home}/it.tar.gz`
  t.match(await benchd(home, ['backup', path, '--with-keys', ...places]), {
    code: 0,
    stderr: /^benchd: no service runs on the data folder .*: the backup is made of what is in it\n/,
  })
  const bytes = readFileSync(path)
  writeFileSync(path, bytes.subarray(0, bytes.length - 20))
  const state = () => readdirSync(`${home}/data`).join()
  const before = state()
  t.match(await benchd(home, ['restore', path, '--yes', ...places]), { code: 1, stderr: /damaged/ })
  t.match(await benchd(home, ['restore', `${home}/none`, '--yes', ...places]), { code: 3, stderr: /cannot be read/ })
  t.match(await benchd(home, ['restore', `${home}/config.json`, '--yes', ...places]), { code: 1, stderr: /damaged/ })
  t.equal(state(), before)
})

test('a restore that was cut off once it was decided is ended by the next start, and by the next command', async (t) => {
  const { home, here, serve } = prepared(t)
  const first = await serve()
  const key = (await benchd(home, ['key', 'create', '--name', 'a', '--scope', 'admin', ...here])).stdout.trim()
  await teach(first.url, key, 'then')
  await first.close()
  const cutOff = (text: string, before: string) => {
    mkdirSync(`${home}/data/swap/new`, { recursive: true })
    writeFileSync(`${home}/data/swap/new/teachpoints.json`, text)
    writeFileSync(`${home}/data/swap/list.json`, JSON.stringify({ format: 1, put: ['teachpoints.json'], take: [], before }))
  }
  const then = readFileSync(`${home}/data/teachpoints.json`, 'utf8')
  cutOff('{ "format": 1, "teachpoints": [] }', 'before-restore-20260101T000000Z')
  const second = await serve()
  t.same(await taught(second.url, key), [])
  t.notOk(existsSync(`${home}/data/swap`))
  await second.close()
  cutOff(then, 'before-restore-20260102T000000Z')
  t.match(await benchd(home, ['key', 'list', ...here]), { code: 0 })
  t.equal(readFileSync(`${home}/data/teachpoints.json`, 'utf8'), then)
  mkdirSync(`${home}/data/swap/new`, { recursive: true })
  writeFileSync(`${home}/data/swap/list.json`, '{')
  t.match(await benchd(home, ['key', 'list', ...here]), {
    code: 78,
    stderr: /list\.json, by which files are being put in place, is damaged .*: start the service/,
  })
})

test('many commands on one folder at once, without a service, keep one chain of who did what', async (t) => {
  const { home, here } = prepared(t)
  const made = await Promise.all(
    Array.from({ length: 6 }, (_, i) => spawned(home, ['key', 'create', '--name', `key ${i}`, '--scope', 'read', ...here])),
  )
  for (const { code, stderr } of made) t.equal(code, 0, stderr)
  const found = await verifyChain(`${home}/data/audit.jsonl`)
  t.match(found, { lines: 6, torn: 0, broken: [] })
  const { keys } = JSON.parse((await benchd(home, ['key', 'list', '--json', ...here])).stdout)
  t.equal(keys.length, 6)
})

test('the bundle holds what helps, and none of the secrets of the folder', async (t) => {
  const config = { ...good, devices: [...good.devices, { device_id: 'shaker-2', driver: 'bioshake', transport: { kind: 'simulated' } }] }
  const { home, places, here, serve } = prepared(t, config)
  writeFileSync(`${home}/config.json`, `// door code is 4711-hidden\n${JSON.stringify(config)}`)
  const first = await serve()
  const keys = await Promise.all(
    ['read', 'operate', 'admin'].map(async (scope) =>
      (await benchd(home, ['key', 'create', '--name', scope, '--scope', scope, ...here])).stdout.trim(),
    ),
  )
  const admin = keys[2]!
  const call = (method: string, path: string, body?: object) =>
    fetch(first.url + path, {
      method,
      headers: { 'X-API-Key': admin, 'Content-Type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    })
  const pairing = (await (await call('POST', '/api/keys/requests', { app_name: 'a', scope: 'read' })).json()) as { request_secret: string }
  // People put whole keys where they do not belong.
  await call('POST', '/api/sim/events', { event_name: 'THREAD.a.STARTED', context: { note: `my key is ${admin}` } })
  await call('POST', '/api/devices/shaker-1/stop')
  const secrets = [
    ...keys.map((key) => key.slice(12)),
    ...(JSON.parse(readFileSync(`${home}/data/keys.json`, 'utf8')).keys as { sha256: string }[]).map(({ sha256 }) => sha256),
    pairing.request_secret,
    '4711-hidden',
  ]
  const texts = async (path: string, words: string[]) => {
    const made = await benchd(home, ['bundle', path, ...words, ...places])
    t.equal(made.code, 0, made.stderr)
    t.equal(statSync(path).mode & 0o777, 0o600)
    mkdirSync(`${path}.d`)
    execFileSync('tar', ['-xzf', path, '-C', `${path}.d`])
    const names = readdirSync(`${path}.d`, { recursive: true }).map(String)
    for (const name of names.filter((name) => statSync(`${path}.d/${name}`).isFile())) {
      const text = readFileSync(`${path}.d/${name}`, 'utf8')
      for (const secret of secrets) t.notOk(text.includes(secret), `${name} holds a secret`)
    }
    t.match(made.stdout, readFileSync(`${path}.d/README.txt`, 'utf8').split('\n').at(-2)!.slice(0, 10))
    return { names, read: (name: string) => readFileSync(`${path}.d/${name}`, 'utf8') }
  }
  const online = await texts(`${home}/online.tar.gz`, [])
  for (const name of ['README.txt', 'config.json', 'doctor.json', 'health.json', 'metrics.txt', 'events.jsonl', 'versions.json', 'wire'])
    t.ok(online.names.includes(name), name)
  t.same(
    online.names.filter((name) => name.startsWith('wire/')),
    ['wire/shaker-1.json'],
    'of the device that has a fault',
  )
  t.match(online.read('events.jsonl'), /my key is bk_.{8}_\(taken out\)/)
  t.match(JSON.parse(online.read('health.json')), { status: 'ok' })
  await first.close()
  const offline = await texts(`${home}/offline.tar.gz`, [])
  for (const name of ['state.txt', 'config.json', 'incidents.jsonl', 'events.jsonl']) t.ok(offline.names.includes(name), name)
  t.match(offline.read('README.txt'), /Left out:\nhealth\.json +no service answers here/)
})

test('a bundle of a service elsewhere holds nothing of this computer, and says so', async (t) => {
  const { home, serve, here } = prepared(t)
  const service = await serve()
  const key = (await benchd(home, ['key', 'create', '--name', 'a', '--scope', 'admin', ...here])).stdout.trim()
  const far = ['--url', service.url, '--key', key, '--config', `${home}/config.json`]
  const made = await benchd(home, ['bundle', `${home}/stick`, ...far])
  t.equal(made.code, 0, made.stderr)
  const path = made.stdout.trim().split('\n').at(-1)!
  t.match(path, /\/stick\/benchd-bundle-.*\.tar\.gz$/)
  const names = execFileSync('tar', ['-tzf', path], { encoding: 'utf8' }).split('\n')
  for (const name of ['health.json', 'system.json', 'devices.json', 'config.json', 'doctor.json']) t.ok(names.includes(name), name)
  for (const name of ['versions.json', 'journal.txt']) {
    t.notOk(names.includes(name), name)
    t.match(made.stdout, new RegExp(`\\n${name} +no service gives it over the network`))
  }
  t.match(await benchd(home, ['bundle', path, ...far]), { code: 5, stderr: /is there already/ })
  await service.close()
  t.match(await benchd(home, ['bundle', `${home}/none.tar.gz`, ...far]), { code: 69 })
  t.notOk(existsSync(`${home}/none.tar.gz`))
})

test('the log is read from the journal, in plain words; where there is none, that is said', async (t) => {
  const { home } = prepared(t)
  const line = JSON.stringify({ level: 'warn', message: 'there is no key yet' })
  const entry = (MESSAGE: unknown, PRIORITY: string) => JSON.stringify({ MESSAGE, PRIORITY, __REALTIME_TIMESTAMP: '1795196939121000' })
  const script = `echo "$@" >&2; cat <<'END'\n${entry(line, '4')}\n${entry('Started benchd.service', '6')}\n${entry([104, 105], '3')}\nno json\nEND`
  const PATH = fakeProgram(`${home}/bin`, 'journalctl', script)
  const said = await benchd(home, ['logs', '--lines', '5'], { PATH })
  t.match(said, { code: 0, stdout: /^2026-11-20T\S+ warn {2}there is no key yet\n\S+ info {2}Started benchd\.service\n\S+ error hi\n$/ })
  const lines = (await benchd(home, ['logs', '--json', '--errors', '-f'], { PATH })).stdout.trim().split('\n')
  t.match(JSON.parse(lines[0]!), { level: 4, message: 'there is no key yet' })
  t.match(await benchd(home, ['logs', '--lines', 'many'], { PATH }), { code: 2 })
  t.match(await benchd(home, ['logs', '--data-dir', '/var/lib/benchd'], { PATH }), { code: 0 })
  t.match(await benchd(home, ['logs', '--data-dir', home], { PATH }), {
    code: 3,
    stderr: /prints its log where it was started: see that terminal/,
  })
  t.match(await benchd(home, ['logs'], { PATH: `${home}/nothing` }), { code: 3, stderr: /there is no journal of systemd here/ })
  const ending = (name: string, ...end: string[]) => ({ PATH: fakeProgram(`${home}/${name}`, 'journalctl', end.join('; ')) })
  const empty = {
    code: 3,
    stdout: '',
    stderr: /the journal has no entry of benchd; to see if systemd runs it here: systemctl status benchd/,
  }
  t.match(await benchd(home, ['logs'], ending('nothing-0', 'exit 0')), empty)
  t.match(await benchd(home, ['logs'], ending('nothing-1', 'exit 1')), empty)
  t.match(await benchd(home, ['logs', '--errors'], ending('well', 'exit 0')), {
    code: 0,
    stdout: '',
    stderr: /the journal has no error of benchd/,
  })
  t.match(await benchd(home, ['logs'], ending('broken', 'echo "Bad message" >&2', 'exit 1')), {
    code: 1,
    stderr: /journalctl failed \(exit code 1\): Bad message; to see more: systemctl status benchd/,
  })
  t.match(await benchd(home, ['logs'], ending('killed', 'kill -9 $$')), { code: 1, stderr: /journalctl was ended by SIGKILL/ })
  const refusing = fakeProgram(`${home}/bin2`, 'journalctl', 'echo "No journal files were opened due to insufficient permissions." >&2')
  t.match(await benchd(home, ['logs'], { PATH: refusing }), { code: 3, stderr: /you may not read it/ })
})
