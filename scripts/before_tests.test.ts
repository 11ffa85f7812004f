// Each test may rely on what before_tests.mjs does before it.

import { existsSync } from 'node:fs'
import { test } from 'tap'

test('the folder of a test is there until its teardowns are over', async (t) => {
  let wasThere = false
  await t.test('a test with a folder', async (t) => {
    const folder = t.testdir({})
    t.teardown(() => {
      wasThere = existsSync(folder)
    })
  })
  t.ok(wasThere)
})

test('children of tests do not follow what is loaded', async (t) => {
  t.notMatch(process.env.NODE_OPTIONS, /processinfo/)
})
