import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { test } from 'tap'
import { installation } from './installation.ts'

const tls = { cert: '/etc/benchd/tls/cert.pem', key: '/etc/benchd/tls/key.pem' }

test('what was laid out by the package or by install.sh is mended by these, in the folder that they name', (t) => {
  const laid = (by: string, folder: string) => t.testdir({ 'package.json': JSON.stringify({ installed: { by, folder } }) })
  const packaged = installation(laid('package', '/usr/lib/benchd'))
  t.equal(packaged.by, 'package')
  t.equal(packaged.makeCert(), 'sudo /usr/lib/benchd/make-cert.sh')
  t.equal(packaged.makeCert(tls), 'sudo /usr/lib/benchd/make-cert.sh --force /etc/benchd/tls')
  t.match(packaged.makeCert({ ...tls, key: '/elsewhere/key.pem' }), /make-cert\.sh FOLDER/, 'another would not take its place')
  t.match(packaged.rebuild('epoll'), /sudo \/usr\/lib\/benchd\/build-native$/)
  t.match(packaged.rebuild('@serialport/bindings-cpp'), /^sudo apt install --reinstall/, 'build-native does not compile it')
  t.notMatch(JSON.stringify(packaged) + packaged.rebuild('i2c-bus'), /npm|scripts/)
  const scripted = installation(laid('install.sh', '/usr/local/lib/benchd'))
  t.equal(scripted.makeCert(), 'sudo /usr/local/lib/benchd/make-cert.sh')
  t.match(scripted.again, /scripts\/install\.sh/)
  t.notMatch(scripted.newer + scripted.again, /apt/)
  t.end()
})

test('without their word it came by npm, or runs where it was built; then the script that is named is there', (t) => {
  const built = installation()
  t.equal(built.by, 'sources')
  t.ok(existsSync(built.makeCert()))
  const folder = `${t.testdir({ node_modules: { benchd: { 'package.json': '{}' } } })}/node_modules/benchd`
  t.match(installation(folder), { by: 'npm', newer: /npm install --global/ })
  t.equal(installation(folder).makeCert(), `${folder}/scripts/make-cert.sh`)
  t.match(installation(folder).rebuild('epoll'), `npm rebuild epoll, in ${folder}`)
  t.end()
})

test('what npx runs from a tarball is named as it was typed', (t) => {
  const run = (name: string) => {
    const its = { 'package.json': JSON.stringify({ _npx: { packages: [name] } }), node_modules: { benchd: { 'package.json': '{}' } } }
    const top = t.testdir({ _npx: { '0f3a': its } })
    return installation(`${top}/_npx/0f3a/node_modules/benchd`)
  }
  t.match(run('./benchd-0.2.0.tgz'), { command: 'npx ./benchd-0.2.0.tgz', again: /^remove .*_npx\/0f3a, then call npx again$/ })
  t.equal(run('./of the bench/benchd-0.2.0.tgz').command, "npx './of the bench/benchd-0.2.0.tgz'")
  t.equal(run("./bench's/benchd-0.2.0.tgz").command, "npx './bench'\\''s/benchd-0.2.0.tgz'")
  t.equal(run('benchd').command, 'benchd')
  const top = t.testdir({
    'benchd-0.2.0.tgz': '',
    cache: {
      _npx: {
        '0f3a': {
          'package.json': JSON.stringify({ dependencies: { benchd: 'file:../../../benchd-0.2.0.tgz' } }),
          node_modules: { benchd: { 'package.json': '{}' } },
        },
      },
    },
  })
  const { command } = installation(`${top}/cache/_npx/0f3a/node_modules/benchd`)
  t.match(command, /^npx \.\.?\//, 'npm before 11 notes only where the file is')
  t.equal(resolve(command.slice('npx '.length)), `${top}/benchd-0.2.0.tgz`)
  t.end()
})
