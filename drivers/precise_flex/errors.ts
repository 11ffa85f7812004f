// The errors that the controller of a PreciseFlex reports by number, and the states of its motor power.

import type { ErrorTable, Meaning } from '../reported.ts'

const power = 'See why the motor power is off and switch it on'
const way = 'See what is in the way of the arm and free it'
const estop = 'Release the emergency stop'
const point = 'See the teachpoint'
const hot = 'Let it cool down and see its load'
const service = 'Read the log on its web page and ask Brooks'
const server = 'Compare the TCS projects on the controller with those that the driver needs'

const codes: Record<number, Meaning> = {
  [-202]: ['an argument is not allowed', point],
  [-204]: ['not implemented', server],
  [-205]: ['an argument is missing', server],
  [-213]: ['the password is wrong', service],
  [-214]: ['the command was cancelled', 'See who cancelled it'],
  [-310]: ['no device answered in time', service],
  [-700]: ['its program was aborted', 'See its web page and start the command server again'],
  [-714]: ['unknown command', server],
  [-750]: ['not while the thread is active', 'See who else uses the controller'],
  [-752]: ['the thread did not stop in time', service],
  [-1000]: ['no robot of that number', 'See the setting robot'],
  [-1001]: ['the robot is not defined', 'See the setting robot'],
  [-1002]: ['no axis of that number', 'See the settings rail and gripper'],
  [-1003]: ['the axis is not defined', 'See the settings rail and gripper'],
  [-1006]: ['another program has attached the robot', 'Close the other program'],
  [-1007]: ['the robot cannot be attached yet', power],
  [-1008]: ['a robot that moves cannot be detached', 'Wait until it stands'],
  [-1009]: ['no robot is attached', 'See who detached it'],
  [-1010]: ['no robot is selected', 'See the setting robot'],
  [-1012]: ['an axis would leave its range, or is outside it', `${point}, or bring the axis back into its range by hand`],
  [-1013]: ['a motor would leave its range, or is outside it', `${point}, or bring the axis back into its range by hand`],
  [-1014]: ['the arm did not settle at the end of a motion', way],
  [-1017]: ['a person leads the arm, or another program controls it', 'Initialize the device'],
  [-1021]: ['the robot is not homed', 'See why it lost its home'],
  [-1023]: ['a sensor was missed while it homed', service],
  [-1025]: ['the motor power did not come on in time', power],
  [-1026]: ['an amplifier did not come on in time', service],
  [-1028]: ['the emergency stop is pressed', estop],
  [-1029]: ['an error while it moved', way],
  [-1030]: ['a fatal error while it moved', `${way}. Restart the controller`],
  [-1033]: ['a cartesian value is not possible', point],
  [-1034]: ['an axis ran into its negative end', way],
  [-1035]: ['an axis ran into its positive end', way],
  [-1037]: ['the motors are not commutated', power],
  [-1039]: ['the point is too close to the base', point],
  [-1040]: ['the point is out of reach', point],
  [-1042]: ['the elbow cannot change its side in this motion', `${point}, or add a gateway`],
  [-1043]: ['a soft error while it moved', way],
  [-1044]: ['automatic mode is off', 'Set its key switch to automatic'],
  [-1045]: ['a soft emergency stop', estop],
  [-1046]: ['the motor power is off', power],
  [-1047]: ['somebody jogs it on the web page', 'Wait until that has ended'],
  [-1048]: ['somebody jogs it with the pendant', 'Wait until that has ended'],
  [-1056]: ['the point does not fit this robot', point],
  [-1060]: ['a remote emergency stop', estop],
  [-1061]: ['not while the robot moves', 'Wait until it stands'],
  [-1064]: ['the hand would enter a safety zone', point],
  [-1065]: ['the hand is too fast in a safety zone', 'Lower the setting speed'],
  [-1600]: ['the motor power was switched off', power],
  [-1602]: ['an external emergency stop', estop],
  [-1603]: ['its watchdog expired', service],
  [-1604]: ['its power lamp failed', 'Replace the lamp'],
  [-1606]: ['the emergency stop does not switch off', service],
  [-1610]: ['its controller is too hot', hot],
  [-1611]: ['its switch is at manual', 'Set its key switch to automatic'],
  [-1616]: ['it switched off because it was too hot', hot],
  [-1617]: ['its processor is too hot', hot],
  [-1620]: ['the test of its safety circuits failed', service],
  [-1631]: ['its power dump failed', service],
  [-2101]: ['the limit of a vertical search was reached', way],
  [-2102]: ['the limit of a horizontal search was reached', way],
  [-2106]: ['a motor exceeded its peak torque', way],
  [-2800]: ['the command does not fit this robot', server],
  [-2805]: ['unknown command', server],
  [-2850]: ['the gripper is of another kind', 'See the setting gripper'],
  [-2851]: ['no station of that number', server],
  [-2852]: ['the robot is not in a state for that command', power],
  [-2853]: ['the rail is not at its station', 'See the setting rail'],
  [-2855]: ['the gripper has no sensor for closed fingers', 'See the setting gripper'],
  [-3100]: ['the arm is far from where it should be: it hit something', way],
  [-3101]: ['a motor worked too hard for too long: it hit something', way],
  [-3104]: ['a motor worked too hard for too long', hot],
  [-3105]: ['a motor stalled: it hit something', way],
  [-3106]: ['an axis was too fast', service],
  [-3107]: ['the current of an amplifier was too high', service],
  [-3111]: ['a brake failed', service],
  [-3117]: ['the current of an amplifier was too high for too long', hot],
  [-3122]: ['the arm lags behind: it may have hit something', way],
  [-3127]: ['the battery of an encoder is low', 'Replace the battery of the encoders'],
  [-3128]: ['the battery of an encoder is empty', 'Replace the battery of the encoders'],
  [-3141]: ['an encoder is too hot', hot],
  [-3144]: ['an amplifier is too hot', hot],
  [-3145]: ['a motor is too hot', hot],
  [-3147]: ['the arm moved as nobody commanded', service],
}

const within = (least: number, most: number) => (code: number) => code <= -least && code >= -most

export const errors: ErrorTable = {
  codes,
  groups: [
    { holds: within(200, 699), meaning: ['an error of the controller', service] },
    { holds: within(700, 999), meaning: ['an error of its program', service] },
    { holds: within(1000, 1499), meaning: ['an error of the robot', way] },
    { holds: within(1500, 1599), meaning: ['an error of its parameters', service] },
    { holds: within(1600, 1699), meaning: ['its power supply or a safety circuit', service] },
    { holds: within(1700, 1799), meaning: ['an error of its network', 'See its network'] },
    { holds: within(2800, 2899), meaning: ['an error of the command server', server] },
    { holds: within(3000, 3199), meaning: ['an error of a motor or its encoder', service] },
    { holds: within(4000, 4099), meaning: ['an error of its camera', 'See PreciseVision'] },
  ],
  manual: 'the GPL dictionary of Brooks, System Error Codes',
}

/** The errors of a point to which the arm cannot go. Nothing was done if nothing had moved before. */
export const unreachable: ReadonlySet<number> = new Set([-202, -1012, -1013, -1033, -1039, -1040, -1042, -1056, -1064])

/** The robot is attached and the motor power is on: the one state in which it obeys. */
export const attached = 21
/** Motor power is on, and no program has attached the robot. */
export const ready = 20
export const hardStop = 15

/** The states of the motor power besides those. */
export const states: Readonly<Record<number, Meaning>> = {
  3: ['its motor power goes off', power],
  4: ['its motor power goes off after a fault', way],
  5: ['its motor power is off after a fault', way],
  6: ['its motor power is off and waits for the hardware', power],
  7: ['its motor power is off', power],
  8: ['its motor power comes on', 'Wait for it'],
  9: ['its motor power comes on', 'Wait for it'],
  10: ['its motor power comes on', 'Wait for it'],
  11: ['its motor power is on, and nothing controls it', 'See the start-up settings of its controller'],
  12: ['another program of its controller has it', 'See its web page'],
  [hardStop]: ['its emergency stop is pressed', estop],
  16: ['its motor power comes on', 'Wait for it'],
  [ready]: ['no program has attached it', 'See who detached it'],
  22: ['another program of its controller has it', 'See its web page'],
  23: ['another program of its controller has it', 'See its web page'],
  24: ['another program of its controller has it', 'See its web page'],
  28: ['it is homing', 'Wait for it'],
  29: ['somebody jogs it on the web page', 'Wait until that has ended'],
  30: ['another program of its controller has it', 'See its web page'],
  31: ['somebody jogs it with the pendant', 'Wait until that has ended'],
}
