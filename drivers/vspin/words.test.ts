import { test } from 'tap'
import { checksum } from './nmc.ts'
import * as words from './words.ts'

function hex({ bytes }: { bytes: Uint8Array }): string {
  return Buffer.from(bytes).toString('hex')
}

test('before the modules have addresses each frame is as it is known from the wire', async (t) => {
  t.equal(hex(words.zeros), '00'.repeat(20))
  t.equal(hex(words.wake(0)), `aa000e0e${'00'.repeat(8)}`)
  t.equal(hex(words.wake(32)), `aa200e2e${'00'.repeat(8)}`)
  t.equal(hex(words.hardReset), 'aaff0f0e')
  t.equal(hex(words.setAddress(1)), 'aa002101ff21')
  t.equal(hex(words.readServoId), 'aa01132034')
  t.equal(hex(words.setAddress(2)), 'aa002102ff22')
  t.equal(hex(words.readIoId), 'aa02132035')
  t.equal(hex(words.setAddress(3)), 'aa002103ff23')
  t.equal(hex(words.toRunningBaud), 'aaff1a142d')
})

test('the status items and the directions are defined as on the wire', async (t) => {
  t.equal(hex(words.defineServoStatus), 'aa01121f32')
  t.equal(hex(words.defineIoStatus), 'aa02120317')
  t.equal(hex(words.directions(0xff, 0x0f)), 'aa0220ff0f30')
  t.equal(hex(words.directions(0xdf, 0x0f)), 'aa0220df0f10')
  t.equal(hex(words.directions(0xdf, 0x0e)), 'aa0220df0e0f')
  t.equal(hex(words.directions(0xdf, 0x0c)), 'aa0220df0c0d')
  t.equal(hex(words.directions(0xdf, 0x08)), 'aa0220df0809')
})

test('the outputs are two bytes with a checksum', async (t) => {
  t.equal(hex(words.outputsOff), 'aa0226000028')
  t.equal(hex(words.outputs(0, 0)), 'aa0226000028')
  t.equal(hex(words.outputs(0, words.lockBucket)), 'aa0226000129')
  t.equal(hex(words.outputs(0, words.unlockDoor)), 'aa022600042c')
  t.equal(hex(words.outputs(0, words.unlockDoor | words.lockBucket)), 'aa022600052d')
  t.equal(hex(words.outputs(0, words.unlockDoor | words.openDoor)), 'aa022600062e')
  t.equal(hex(words.outputs(0, words.unlockDoor | words.openDoor | words.lockBucket)), 'aa022600072f')
  t.equal(hex(words.outputs(words.freeBucket, 0)), 'aa0226200048')
})

test('the motor is enabled and homed by the frames known from the wire', async (t) => {
  t.same(words.enableMotor.map(hex), ['aa0117021a', 'aa01e6c800b00496000f004b00a00f050007', 'aa0117041c', 'aa01170119', 'aa010b0c'])
  t.equal(hex(words.positionIsZero), 'aa010001')
  t.equal(hex(words.gainsForHoming), 'aa01e605006400000000003200e80301006e')
  t.equal(hex(words.turnSlowly), 'aa0194b61283000012010000f3')
  t.equal(hex(words.homeOnIndex), 'aa01192842')
})

test('a move goes at 600 rpm, a spin at its own speed', async (t) => {
  const move = hex(words.moveTo(0x01020304))
  t.match(move, /^aa01d49704030201c3f52800d71a0000..$/)
  t.equal(checksum(Buffer.from(move, 'hex').subarray(1, -1)), Buffer.from(move, 'hex').at(-1))

  t.equal(hex(words.gainsForSpinning), 'aa01e60500640000000000fd00803e01000c')
  const spin = hex(words.spinTo(0xfffffffe, 3000, 1))
  t.match(spin, /^aa01d497feffffffcdcccc0093030000..$/)
  t.equal(checksum(Buffer.from(spin, 'hex').subarray(1, -1)), Buffer.from(spin, 'hex').at(-1))
})

test('slowing down is a velocity of 0', async (t) => {
  t.equal(hex(words.slowDown(1)), 'aa0194b60000000093030000e1')
  t.match(hex(words.slowDown(0.8)), /^aa0194b600000000dc020000..$/)
})

test('1000 ×g are 2990 rpm', async (t) => {
  t.equal(Math.round(words.rpmOf(1000)), 2991)
  t.equal(Math.round(words.rpmOfTachometer(words.tachometerOf(words.countsPerSecond(2990)))), 2988)
})
