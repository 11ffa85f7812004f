// Builds the class that tests are given, before the first run after an install. `tap run` would build it by itself, without the plugin
// that .taprc takes out, but would still start the tests of that very run with the loader of the plugin: on Node 22 and 24 that loader
// takes the workflows of the tests for CommonJS ("exports is not defined in ES module scope").
import '@tapjs/core'
import { execFileSync } from 'node:child_process'
import { TapConfig } from '@tapjs/config'
import { signature } from '@tapjs/test'

const { pluginSignature } = await TapConfig.load()
if (signature !== pluginSignature) execFileSync('npx', ['tap', 'build'], { stdio: 'inherit' })
