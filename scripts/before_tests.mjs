// Loaded into each test before it begins.

import { t } from 'tap'

// `tap run` puts a module into NODE_OPTIONS that follows what every child process loads, for its coverage. Nobody reads that here, and it
// nearly triples the processor time of a command that a test runs, so children of tests start without it.
const follower = /"?--import=[^\s"]*processinfo[^\s"]*"?/g
const options = process.env.NODE_OPTIONS?.replaceAll(follower, '').trim()
if (options) process.env.NODE_OPTIONS = options
else delete process.env.NODE_OPTIONS

// Of `testdir` and `teardown`, tap ends the one first that a test calls last. A service would still write while its folder is removed: the
// removal fails, and the service is never ended. With a teardown ahead of the folder, all teardowns come before the removal.
t.beforeEach((test) => test.teardown(() => undefined))
