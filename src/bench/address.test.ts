import { hostname } from 'node:os'
import { test } from 'tap'
import { checkConfig } from '../config.ts'
import { pageOf } from './address.ts'

const pageFor = async (more: object) => pageOf(await checkConfig({ format: 1, ...more }, 'the test'))

test('links lead to the page by the name of this computer, and there are none that another computer cannot open', async (t) => {
  t.equal(await pageFor({}), `http://${hostname()}.local:8520/`)
  t.equal(await pageFor({ listen: { host: '10.0.0.7', port: 80 } }), 'http://10.0.0.7:80/')
  t.equal(await pageFor({ listen: { host: '127.0.0.1' } }), undefined)
  t.equal(await pageFor({ listen: { host: '::1' } }), undefined)
  t.equal(await pageFor({ listen: { port: 0 } }), undefined)
})
