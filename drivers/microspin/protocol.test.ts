import { test } from 'tap'
import { framer, newestError, valueIn } from './protocol.ts'

function frames(text: string) {
  const found = []
  let buffer = Buffer.from(text, 'latin1')
  for (let next = framer(buffer); next; next = buffer.length ? framer(buffer) : undefined) {
    found.push(next.frame ?? next.used)
    buffer = buffer.subarray(next.used)
  }
  return { found, rest: buffer.toString('latin1') }
}

test('acknowledgements and ends are found, with the data between them', (t) => {
  t.same(frames('ACK! hss 7\r\nhomed\r\nOK! hss 7\r\nACK! spin 500 50 50 60 8\r\nABOR').found, [
    { kind: 'ack', echo: 'hss', id: 7 },
    { kind: 'end', outcome: 'OK', echo: 'hss', id: 7, lines: ['homed'] },
    { kind: 'ack', echo: 'spin 500 50 50 60', id: 8 },
  ])
  t.equal(frames('ACK! hss 7\r\nhomed\r\nOK! hs').rest, 'homed\r\nOK! hs')
  t.same(frames('ABORTED! spin 500 50 50 60 8\n').found, [{ kind: 'end', outcome: 'ABORTED', echo: 'spin 500 50 50 60', id: 8, lines: [] }])
  t.same(frames('hss\r\nversion\r\n').found, [], 'an echo is no frame')
  t.same(frames('noise\r\nACK! hss 7\r\n').found, [7, { kind: 'ack', echo: 'hss', id: 7 }], 'lines before an acknowledgement are skipped')
  t.end()
})

test('reports and errors are read', (t) => {
  t.equal(valueIn(['Firmware Revision: 4290', 'Version:               MS-1.3.3'], 'Version'), 'MS-1.3.3')
  t.equal(valueIn(['Version:'], 'Version'), null)
  t.same(newestError(['Error 1: (00:00:01) -12: bad params', 'Error 2: (00:10:01) -40: it is stuck: see']), {
    code: -40,
    text: 'it is stuck: see',
  })
  t.equal(newestError(['homed']), undefined)
  t.end()
})
