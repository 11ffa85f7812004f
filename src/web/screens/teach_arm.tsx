// The arm on the screen Teach: its position, buttons that move it while they are held, and free drive.

import { signal, useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'
import type { Capabilities, DeviceInfo } from '../../clients/ts/benchd.ts'
import { type Begin, endWords, type Held, useHold } from '../arm_hold.tsx'
import { type Obstacle, obstacleOf } from '../arm_state.ts'
import { fieldsOf } from '../fields.ts'
import { Act, devicesMayMove } from '../parts.tsx'
import { ask, bench, ifState, now, refusal, scope } from '../store.tsx'
import { duration } from '../words.ts'

type Operation = Capabilities['operations'][number]

/** Returns an operation of a device; undefined if the device cannot do that. */
export function operationOf(can: Capabilities | undefined, name: string): Operation | undefined {
  return can?.operations.find((one) => one.name === name)
}

type ArmProps = { device: DeviceInfo; can: Capabilities | undefined }

/** Shown for an arm that can be moved from here. */
export function Arm({ device, can }: ArmProps) {
  const { device_id, operation } = device
  const { held: its, begin, release } = useHold(device_id)
  const pose = usePose(device, can)
  const [jog, free] = [operationOf(can, 'jog'), operationOf(can, 'free_drive')]
  if (!jog && !free && !operationOf(can, 'go_to')) return null
  const isShown = operation !== null && operation.operation_id === its?.operation_id
  const held = its && (!its.isOver || isShown) ? its : undefined
  const obstacle = held ? undefined : obstacleOf(device, scope.value)
  const isFree = held?.operation.name === 'free_drive'
  const freeing = free && (
    <Act label="Free the arm" twice="Keep a hand on the arm: press again" why={obstacle?.why} onPress={() => begin(free)} />
  )
  return (
    <section aria-label={`Move ${device_id}`} class="arm">
      <Status device={device} held={held} last={its} obstacle={obstacle} />
      {isFree && <HoldAgain since={operation?.started} onPress={release} />}
      {!isFree && jog && (
        <Jog jog={jog} held={held} isOff={obstacle !== undefined} pose={pose} onHold={begin} onLetGo={release}>
          {freeing}
        </Jog>
      )}
      {!isFree && !jog && freeing}
    </section>
  )
}

type StatusProps = { device: DeviceInfo; held: Held | undefined; last: Held | undefined; obstacle: Obstacle | undefined }

/** Says what the arm does, what came of the last hold, or why the arm cannot be moved and what to do. */
function Status({ device, held, last, obstacle }: StatusProps) {
  const { device_id } = device
  const initialize = () => ask('initializeDevice', { path: { device_id }, body: {}, ...ifState(device) })
  const next = refusal.value ? undefined : obstacle?.next
  const words = held ? heldWords(held, device_id) : (refusal.value ?? obstacle?.why ?? endWords(last, device))
  return (
    <div class="row">
      <p class={obstacle || refusal.value ? 'trouble long' : 'hint long'} role="status">
        {words}
      </p>
      {next === 'initialize' && <Act label={`Initialize ${device_id}`} twice={devicesMayMove} kind="main" onPress={initialize} />}
      {typeof next === 'object' && (
        <a class="button quiet" href={next.href}>
          {next.label}
        </a>
      )}
    </div>
  )
}

function heldWords({ operation: { name }, params, isLetGo }: Held, device_id: string): string {
  if (isLetGo) return `${device_id} stops.`
  if (name === 'free_drive') return `${device_id} is free: lead it by hand.`
  return `${device_id} moves along ${params.axis} ${params.direction === '+' ? '+' : '−'}.`
}

/** The longest time of a free drive. */
const free_s = 120

/** `since` is undefined until the live state shows the operation. */
function HoldAgain({ since, onPress }: { since: number | undefined; onPress: () => void }) {
  const left = since === undefined ? free_s : Math.max(0, since + free_s - now.value / 1000)
  return (
    <div class="row">
      <button type="button" class="main large" onPointerDown={onPress} onClick={onPress}>
        Hold the arm
      </button>
      <span class="hint">It holds its position by itself in {duration(left)}, and when this screen is left.</span>
    </div>
  )
}

const frame = ['x', 'y', 'z', 'yaw', 'pitch', 'roll']
const speeds = [2, 10, 20]
/** The chosen speed in %, which stays while the page is open. */
const speed = signal(10)

type JogProps = {
  jog: Operation
  held: Held | undefined
  isOff: boolean
  pose: Record<string, number> | undefined
  onHold: Begin
  onLetGo: () => void
  children: ComponentChildren
}

/** A pair of buttons for each axis that the arm has, with its position between them. */
function Jog({ jog, held, isOff, pose, onHold, onLetGo, children }: JogProps) {
  const showsJoints = useSignal(false)
  const fields = Object.fromEntries(fieldsOf(jog, {}).map((field) => [field.name, field]))
  const axes = fields['axis']?.choices ?? []
  const { min = 1, max = 20 } = fields['speed'] ?? {}
  const ofFrame = axes.filter((axis) => frame.includes(axis))
  const joints = axes.filter((axis) => !frame.includes(axis))
  const shown = showsJoints.value || ofFrame.length === 0 ? joints : ofFrame
  return (
    <>
      <div class="row">
        <fieldset class="row" aria-label="Speed">
          {speeds
            .filter((one) => min <= one && one <= max)
            .map((one) => (
              <Toggle key={one} label={`${one} %`} isOn={speed.value === one} onPress={() => (speed.value = one)} />
            ))}
        </fieldset>
        {joints.length > 0 && ofFrame.length > 0 && (
          <Toggle label="Joints" isOn={showsJoints.value} onPress={() => (showsJoints.value = !showsJoints.value)} />
        )}
        {children}
      </div>
      <div class="axes">
        {shown.map((axis) => (
          <div class="axis" key={axis}>
            {['-', '+'].map((direction) => (
              <HoldButton
                key={direction}
                label={`${axis} ${direction === '-' ? '−' : '+'}`}
                isHeld={held?.params.axis === axis && held.params.direction === direction}
                isOff={isOff}
                onHold={() => onHold(jog, { axis, direction, speed: speed.value })}
                onLetGo={onLetGo}
              />
            ))}
            <output aria-label={axis}>{pose?.[axis]?.toFixed(1)}</output>
          </div>
        ))}
      </div>
    </>
  )
}

function Toggle({ label, isOn, onPress }: { label: string; isOn: boolean; onPress: () => void }) {
  return (
    <button type="button" class={isOn ? 'plain open' : 'plain'} aria-pressed={isOn} onClick={onPress}>
      {label}
    </button>
  )
}

type HoldButtonProps = { label: string; isHeld: boolean; isOff: boolean; onHold: () => void; onLetGo: () => void }

/**
 * A button that acts while it is held, with a pointer or with a key. It is never disabled in the eyes of the browser, which would not say then that the
 * button was let go.
 */
function HoldButton({ label, isHeld, isOff, onHold, onLetGo }: HoldButtonProps) {
  const off = isOff || refusal.value !== undefined
  return (
    <button
      type="button"
      class={isHeld ? 'jog held' : 'jog'}
      aria-label={`Jog ${label}`}
      aria-disabled={off}
      onPointerDown={(event) => {
        if (off || event.button !== 0) return
        // The end of the touch is told here wherever the finger is by then.
        event.currentTarget.setPointerCapture(event.pointerId)
        onHold()
      }}
      onPointerUp={onLetGo}
      onPointerCancel={onLetGo}
      onLostPointerCapture={onLetGo}
      onKeyDown={(event) => {
        if (event.key !== 'Enter' && event.key !== ' ') return
        event.preventDefault()
        if (!off && !event.repeat) onHold()
      }}
      onKeyUp={onLetGo}
      onBlur={onLetGo}
      onContextMenu={(event) => event.preventDefault()}
    >
      {label}
    </button>
  )
}

/** The pause between two questions for the position while the arm moves. */
const pose_ms = 200

/** Follows the position of an arm that can tell it: all the time while it moves, once after that. */
function usePose({ device_id, state, operation }: DeviceInfo, can: Capabilities | undefined): Record<string, number> | undefined {
  const pose = useSignal<Record<string, number> | undefined>(undefined)
  const canTell = operationOf(can, 'pose') !== undefined && state !== 'disconnected'
  const isMoving = operation !== null
  useEffect(() => {
    pose.value = undefined
  }, [device_id])
  useEffect(() => {
    if (!canTell) return
    let timer: ReturnType<typeof setTimeout> | undefined
    let isOver = false
    const read = async () => {
      const asked = { path: { device_id }, signal: AbortSignal.timeout(1000) }
      const answer = await bench.value?.call('getDevicePose', asked).catch(() => undefined)
      if (isOver) return
      if (answer) pose.value = answer.coords
      if (isMoving) timer = setTimeout(read, pose_ms)
    }
    void read()
    return () => {
      isOver = true
      clearTimeout(timer)
    }
  }, [device_id, canTell, isMoving, state])
  return pose.value
}
