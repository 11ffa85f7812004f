import { test } from 'tap'
import { sentence } from './sentence.ts'

test('a template gives the sentence in the past and as infinitive, without the parts whose members are missing', (t) => {
  const template = 'Shook|shake {device}[ at {speed} rpm][ for {duration} s]'
  t.same(sentence(template, { device: 'shaker-1', speed: 500, duration: 0 }), {
    past: 'Shook shaker-1 at 500 rpm for 0 s',
    infinitive: 'shake shaker-1 at 500 rpm for 0 s',
  })
  t.equal(sentence(template, { device: 'shaker-1', speed: null }).past, 'Shook shaker-1')
  t.equal(sentence(template, {}).past, 'Shook …')
  t.equal(sentence('Submitted|submit[ {workflow}] now', { workflow: 'a' }).infinitive, 'submit a now')
  t.end()
})

test('a long member is shortened between two letters, and an object is not spelled out', (t) => {
  t.equal(sentence('Stored|store {name}', { name: '😀'.repeat(100) }).past, `Stored ${'😀'.repeat(59)}…`)
  t.equal(sentence('Stored|store {name}', { name: { a: 1 } }).past, 'Stored …')
  t.equal(sentence('Stored|store {name}', { name: ['a', 1, null] }).past, 'Stored a, 1, …')
  t.equal(sentence('Stored|store {name}', { name: '{other}', other: 'x' }).past, 'Stored {other}')
  t.end()
})
