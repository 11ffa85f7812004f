// The settings of a PreciseFlex robot.

import * as v from 'valibot'
import { described, Whole } from '../../src/kit/described.ts'

function between(least: number, most: number) {
  return v.pipe(v.number(), v.minValue(least), v.maxValue(most))
}

export const settings = v.pipe(
  v.strictObject({
    robot: v.optional(described(Whole(1, 12), 'The number of the robot on its controller'), 1),
    rail: v.optional(described(v.boolean(), 'Whether the robot stands on a rail, which is its axis 6'), false),
    gripper: v.optional(
      described(
        v.picklist(['module', 'axis']),
        'How the fingers are moved: `module` by the commands of the PARobot module, with force; `axis` as axis 5 of the robot, without force',
      ),
      'module',
    ),
    grip_width: v.optional(described(between(1, 500), 'Width between the fingers of labware whose workflow says no `grip`', 'mm'), 85.5),
    grip_force: v.optional(described(between(1, 60), 'Force on labware whose workflow says no `force`', 'N'), 10),
    open_by: v.optional(described(between(1, 100), 'How much wider than the labware the fingers open', 'mm'), 10),
    squeeze: v.optional(described(between(0.5, 10), 'How much closer than the labware the fingers go, with `axis`', 'mm'), 2),
    finger_speed: v.optional(described(Whole(10, 100), 'How fast the fingers move', '%'), 50),
    finger_offset: v.optional(described(between(-1000, 1000), 'Reading of axis 5 at which the fingers are 0 mm apart', 'mm'), 0),
    speed: v.optional(described(Whole(1, 100), 'Speed between the places', '%'), 50),
    approach_speed: v.optional(described(Whole(1, 100), 'Speed near the labware, along a straight line', '%'), 20),
    profile: v.optional(described(Whole(1, 100), 'Number of the speed profile on the controller that is written for `speed`'), 1),
    approach_profile: v.optional(described(Whole(1, 100), 'Number of the profile that is written for `approach_speed`'), 2),
    manual_profile: v.optional(described(Whole(1, 100), 'Number of the profile that is written for jogs and for `go_to`'), 3),
    column_holds: v.optional(
      described(v.boolean(), 'Whether the column stays where it is when its motor is free, so that free drive may free it, too'),
      false,
    ),
    clearance: v.optional(
      described(between(1, 1000), 'Distance from the labware at which the approach begins, where the teachpoint says none', 'mm'),
      100,
    ),
    move_timeout_s: v.optional(described(between(1, 600), 'How long a pick or a place may take', 's'), 60),
    power_timeout_s: v.optional(described(Whole(1, 30), 'How long the motor power may take to come on', 's'), 20),
  }),
  v.check(
    ({ profile, approach_profile, manual_profile }) => new Set([profile, approach_profile, manual_profile]).size === 3,
    'profile, approach_profile and manual_profile must be three numbers',
  ),
)
export type Settings = v.InferOutput<typeof settings>
