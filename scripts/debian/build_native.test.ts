// build-native, with programs that stand for a compiler and for Node: what is compiled, and where it lies.

import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { type Test, test } from 'tap'
import { fakeProgram } from '../../src/testing/cli.ts'

const script = fileURLToPath(new URL('../../../scripts/debian/build-native', import.meta.url))
const target = `node-v${process.versions.modules}-${process.platform}-${process.arch}`

/** Two packages that load once they have a module for this Node; `epoll` has one from an earlier version of benchd, for another Node. */
function machine(t: Test) {
  const loads = (name: string) => `require('fs').accessSync(__dirname + '/lib/binding/${target}/${name}.node')`
  return t.testdir({
    node_modules: {
      epoll: { 'index.js': loads('epoll'), src: { 'epoll.cc': '' }, build: { Release: { 'epoll.node': 'for another Node' } } },
      'i2c-bus': { 'index.js': loads('i2c'), src: { 'i2c.cc': '' }, lib: { binding: { [target]: { 'i2c.node': 'shipped' } } } },
    },
    headers: { 'node_version.h': '#define NODE_MODULE_VERSION NODE_EMBEDDER_MODULE_VERSION\n#define NODE_MODULE_VERSION 199\n' },
  })
}

/** Writes its own command line into the module. */
const compiler = 'for last; do :; done; echo "$*" >"$last"'

function call(top: string, ...words: string[]) {
  fakeProgram(`${top}/bin`, 'cxx', compiler)
  return spawnSync(script, [...words, top], { encoding: 'utf8', env: { ...process.env, CXX: `${top}/bin/cxx` } })
}

test('for another Node both are compiled, in the folder of its ABI and processor, with no path of this computer', (t) => {
  const top = machine(t)
  t.match(call(top, '--for', 'arm64', `${top}/headers`), { status: 0, stdout: '', stderr: '' })
  const made = readFileSync(`${top}/node_modules/i2c-bus/lib/binding/node-v199-linux-arm64/i2c.node`, 'utf8')
  t.match(made, `-ffile-prefix-map=${top}/headers=node`)
  t.match(made, / src\/i2c\.cc -o lib\/binding\/node-v199-linux-arm64\/i2c\.node$/m)
  t.ok(existsSync(`${top}/node_modules/epoll/lib/binding/node-v199-linux-arm64/epoll.node`))
  t.ok(existsSync(`${top}/node_modules/epoll/build`), 'what this Node has stays')
  t.end()
})

test('what an earlier version compiled for another Node goes, and what loads stays as it is', (t) => {
  const top = machine(t)
  call(top)
  t.notOk(existsSync(`${top}/node_modules/epoll/build`), 'bindings would load that first')
  t.equal(readFileSync(`${top}/node_modules/i2c-bus/lib/binding/${target}/i2c.node`, 'utf8'), 'shipped')
  t.end()
})
