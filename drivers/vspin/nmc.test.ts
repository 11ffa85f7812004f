import { test } from 'tap'
import { checksum, decode, encode, framer, inputsOf, servoOf } from './nmc.ts'

const servoFrame = withChecksum('0901020304 00 2cff 04 05060000'.replaceAll(' ', ''))

test('a frame is address, count of data and command, data, and the sum of these', async (t) => {
  t.equal(encode(1, 'noOp').toString('hex'), 'aa010e0f')
  t.equal(encode(2, 'outputs', [0x20, 0]).toString('hex'), 'aa0226200048')
})

test('a servo status is taken apart', async (t) => {
  t.same(servoOf(servoFrame), { status: 0x09, position: 0x04030201, velocity: -212, aux: 4, home: 0x0605 })
})

test('the inputs tell of door and bucket, and whether the air is at rest', async (t) => {
  const of = (hex: string) => inputsOf(withChecksum(hex))
  t.same(of('00000800'), { settled: true, bucketLocked: false, doorOpen: false, doorUnlocked: false })
  t.same(of('00100f00'), { settled: true, bucketLocked: true, doorOpen: true, doorUnlocked: true })
  for (const moving of ['08', '80', '88', '30']) t.equal(of(`00${moving}0800`).settled, false, moving)
})

test('an answer is cut by the length that was asked for', async (t) => {
  const question = { bytes: new Uint8Array(), reply: 14 }
  t.equal(framer(servoFrame.subarray(0, 13), question), undefined)
  t.same(framer(Buffer.concat([servoFrame, Buffer.from([1])]), question), { used: 14, frame: servoFrame })
})

test('an answer with a wrong checksum is none, and one that nobody asked for neither', async (t) => {
  const wrong = Buffer.from(servoFrame)
  wrong[3]! ^= 0x10
  t.same(framer(wrong, { bytes: new Uint8Array(), reply: 14 }), { used: 14 })
  t.same(framer(servoFrame, undefined), { used: 14 })
})

test('a module finds frames between bytes that are none, in pieces of any size, and knows a broken one', async (t) => {
  t.same(decode(Buffer.from('00aa', 'hex')), { used: 1 })
  t.equal(decode(Buffer.from('aa0226', 'hex')), undefined)
  t.equal(decode(Buffer.from('aa02262000', 'hex')), undefined)
  t.same(decode(Buffer.from('aa0226200048aa', 'hex')), {
    used: 6,
    packet: { address: 2, command: 6, data: Buffer.from([0x20, 0]), sound: true },
  })
  t.equal(decode(Buffer.from('aa0226200049', 'hex'))?.packet?.sound, false)
})

function withChecksum(hex: string): Buffer {
  const bytes = Buffer.from(hex, 'hex')
  return Buffer.concat([bytes, Buffer.from([checksum(bytes)])])
}
