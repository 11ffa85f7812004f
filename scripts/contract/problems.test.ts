import { test } from 'tap'
import { unexpected } from './problems.ts'

const contact = { rule: 'info-contact', at: 'info', message: 'there is no contact' }
const accepted = [{ rule: 'info-contact', at: /^info$/, reason: 'there is none' }]

test('a problem that is not on the list is told, and an entry of the list that nobody reports any more', (t) => {
  t.same(unexpected([contact], accepted), [])
  t.match(unexpected([contact, { rule: 'unused', at: 'components/A', message: 'nobody uses it' }], accepted), [
    /^unused at components\/A: nobody uses it$/,
  ])
  t.match(unexpected([{ ...contact, at: 'paths' }], accepted), [/^info-contact at paths/, /^info-contact is accepted/])
  t.match(unexpected([], accepted), [/^info-contact is accepted, but is not reported/])
  t.end()
})
