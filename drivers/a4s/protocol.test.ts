import { test } from 'tap'
import { checksum, heaterOff, heatTo, nextFrame, readStatus, readTag, sealFor } from './protocol.ts'

const status = 'T12:34:56=1652,0,1,00,00,188,000'

test('the checksum is what instruments were seen to send', (t) => {
  t.equal(checksum('Y00'), 'PM')
  t.equal(checksum('Y01'), 'PL')
  t.equal(checksum('N00'), 'AH')
  t.equal(checksum('N01'), 'AG')
  t.equal(checksum('00GS='), 'HO')
  t.equal(checksum('00DH=0170'), 'ME')
  t.equal(checksum('00DT=0030'), 'LN')
  t.end()
})

test('numbers go as four digits, the time in tenths of a second', (t) => {
  t.equal(heatTo(170), '*00DH=0170zz!')
  t.equal(sealFor(0.7), '*00DT=0007zz!')
  t.equal(sealFor(10), '*00DT=0100zz!')
  t.equal(heaterOff, '*00H0ZZ')
  t.end()
})

test('a group of frames is taken apart, and carriage returns belong to no frame', (t) => {
  const group = `*${status}${checksum(status)}!*Y00PM!\r*N00AH!\r`
  t.same(frames(group), { frames: [status, 'Y00', 'N00'], skipped: 0, left: '\r' })
  t.end()
})

test('half a frame waits for the rest', (t) => {
  t.equal(nextFrame(Buffer.from('*Y00P')), undefined)
  t.equal(nextFrame(Buffer.from('\r')), undefined)
  t.end()
})

test('after noise or a frame that broke off, the last star begins a frame', (t) => {
  t.same(frames('garbage*Y00PM!'), { frames: ['Y00'], skipped: 7, left: '' })
  t.same(frames('*T12:3*Y00PM!'), { frames: ['Y00'], skipped: 6, left: '' })
  t.same(frames('**Y00PM!'), { frames: ['Y00'], skipped: 1, left: '' })
  t.end()
})

test('a frame with a wrong checksum is skipped', (t) => {
  t.same(frames('*Y01PM!*Y00PM!'), { frames: ['Y00'], skipped: 7, left: '' })
  t.same(frames('*!*A!*Y00PM!').frames, ['Y00'])
  t.end()
})

test('a status is read to its last field', (t) => {
  t.same(readStatus(status), {
    temperature: 165.2,
    system: 'idle',
    heater: 'ready',
    error: '00',
    sensors: { open: false, closed: true, door_closed: true, roll: true },
  })
  t.match(readStatus('T00:00:01=0250,3,0,07,00,178,012'), { system: 'error', error: '07', sensors: { open: true, door_closed: false } })
  t.end()
})

test('what is no status is not read as one', (t) => {
  t.equal(readStatus('Y00'), undefined)
  t.equal(readStatus('T00:00:01=0250,9,0,00,00,188,000'), undefined)
  t.equal(readStatus('T00:00:01=0250,0,0,00,00,188'), undefined)
  t.end()
})

test('the line after a reset holds the tag of the firmware', (t) => {
  t.equal(readTag('D515A=0000000123,0000000000'), '515A')
  t.equal(readTag('Y00'), undefined)
  t.end()
})

function frames(text: string) {
  const found: string[] = []
  let skipped = 0
  let rest = Buffer.from(text, 'latin1')
  for (let next = nextFrame(rest); next && rest.length; next = nextFrame(rest)) {
    if (next.frame === undefined) skipped += next.used
    else found.push(next.frame)
    rest = rest.subarray(next.used)
  }
  return { frames: found, skipped, left: rest.toString('latin1') }
}
