import { test } from 'tap'
import { isDone, isError, isFlag, isState, moveC, moveJ, nextReply, numbersIn, profileWith, raised } from './protocol.ts'

function replyIn(hex: string) {
  return nextReply(Buffer.from(hex, 'hex'))
}

test('bytes become replies, and half a line none', (t) => {
  t.same(replyIn('302032310d0a'), { used: 5, frame: { code: 0, text: '21' } }, '0 21')
  t.same(replyIn('300d0a'), { used: 2, frame: { code: 0, text: '' } })
  t.same(nextReply(Buffer.from('-1012 *Joint out-of-range*\r\n')), { used: 27, frame: { code: -1012, text: '*Joint out-of-range*' } })
  t.same(nextReply(Buffer.from('0 1.5 2')), undefined)
  t.same(nextReply(Buffer.from('\n0\r\n')), { used: 1 })
  for (const noise of ['wherej', '12.5 3', '-12.5 3', '21', 'halt'])
    t.same(nextReply(Buffer.from(`${noise}\r\n`))?.frame, { code: null, text: noise }, 'an echo or half an answer is no reply')
  t.end()
})

test('the form of a reply tells what it can answer', (t) => {
  const reply = (text: string, code = 0) => ({ code, text })
  t.same(numbersIn(reply('1.5 -2, 3')), [1.5, -2, 3])
  t.same(numbersIn(reply('1.5 x')), [])
  t.same(numbersIn(reply('1.5', -1)), [])
  t.same([isState(reply('21')), isState(reply('1')), isState(reply('0')), isState(reply('21 3'))], [true, false, false, false])
  t.same([isFlag(reply('-1')), isFlag(reply('1, 0, 0')), isFlag(reply('21')), isFlag(reply('0 3'))], [true, true, false, false])
  t.same([isDone(reply('')), isDone(reply('', 1)), isDone(reply('21')), isDone(reply('', -1009))], [true, true, false, false])
  t.same([isError(reply('', -1009)), isError(reply('', 1))], [true, false])
  t.end()
})

test('motions have three places, and the configuration only where the point says the side of the elbow', (t) => {
  const pose = { x: 1, y: 2.00049, z: 3, yaw: 4, pitch: 90, roll: -180 }
  t.equal(moveJ(1, [1, 2, 3, 4, 5]), 'moveJ 1 1.000 2.000 3.000 4.000 5.000')
  t.equal(moveC(2, { pose }), 'moveC 2 1.000 2.000 3.000 4.000 90.000 -180.000')
  t.match(moveC(2, { pose, elbow: 'right' }), / 4097$/)
  t.match(moveC(2, { pose, elbow: 'left' }), / 4098$/)
  t.throws(() => moveC(2, { pose: { ...pose, z: Number.NaN } }), { code: 'invalid', message: /must be a number/ })
  t.equal(profileWith({ profile: 3, speed: 7, isStraight: true }), 'Profile 3 7 0 50 50 0.1 0.1 0 -1')
  t.match(raised({ at: 'a', pose }, 5), { pose: { z: 8, x: 1 } })
  t.end()
})
