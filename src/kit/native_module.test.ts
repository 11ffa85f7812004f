import { createRequire } from 'node:module'
import { test } from 'tap'
import { whyNotLoaded } from './native_module.ts'

const here = `Node ${process.version} on ${process.platform} ${process.arch}`

/** The error with which a package fails to load whose module was compiled for nothing, or does not exist. */
function errorOf(load: () => unknown): unknown {
  try {
    load()
  } catch (error) {
    return error
  }
  throw new Error('it loads')
}

test('the list of places of the package bindings becomes a sentence that names this Node', (t) => {
  const tried = new Error(
    'Could not locate the bindings file. Tried:\n → /lib/epoll/build/epoll.node\n → /lib/epoll/build/Debug/epoll.node',
  )
  t.equal(whyNotLoaded(tried), `it was not built for ${here}`)
  const older = new Error("The module '/lib/i2c.node'\nwas compiled against a different Node.js version using\nNODE_MODULE_VERSION 108.")
  t.equal(whyNotLoaded(older), `it was built for another version of Node than ${process.version}`)
  t.equal(whyNotLoaded(errorOf(() => createRequire(import.meta.url)('no-such-package'))), 'it is not installed')
  t.equal(whyNotLoaded(new Error('libstdc++.so.6: version `GLIBCXX_9` not found\nmore')), 'libstdc++.so.6: version `GLIBCXX_9` not found')
  t.end()
})

test('it is what the real package says', { skip: !isInstalled('bindings') && 'the package bindings is not installed here' }, (t) => {
  const bindings = createRequire(import.meta.url)('bindings') as (name: { bindings: string; module_root: string }) => unknown
  t.equal(whyNotLoaded(errorOf(() => bindings({ bindings: 'epoll', module_root: t.testdir({}) }))), `it was not built for ${here}`)
  t.end()
})

function isInstalled(name: string): boolean {
  try {
    return Boolean(createRequire(import.meta.url).resolve(name))
  } catch {
    return false
  }
}
