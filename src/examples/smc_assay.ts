// A bead assay of eleven hours on three arms in a row, joined by two shuttles: eighteen methods, six kinds of labware. It runs in PURE_SIM without
// configured devices. The durations of protocols are assumed; those of shakers and centrifuge are the assay's.

import { topology, workflow } from '../workflow/plans/author.ts'
import { delid, each, instruments, many, protocol, readOn, shake, shakers, sites, spin, stations, translators, zone } from './smc_parts.ts'

const stackers = many('stacker', 8)
const hotel = many('hotel_pad', 12)

/** 53 positions. */
export const smcTopology = topology({
  format: 1,
  name: 'smc',
  transporters: {
    ddr_1: zone('biotek_1', 'bravo_96', 'waste_1', many('pad', 3), 'translator_1_start'),
    ddr_2: zone('centrifuge', 'sealer', stackers, shakers, many('pad', 3, 4), 'translator_1_end', 'translator_2_start'),
    ddr_3: zone('biotek_2', 'bravo_384', hotel, 'smc_pro', 'delidder', 'waste_2', many('pad', 3, 7), 'translator_2_end'),
  },
  positions: {
    ...sites(['biotek_1', 'biotek_2', 'bravo_96', 'bravo_384', 'centrifuge', 'sealer', 'smc_pro', 'delidder', ...shakers]),
    ...each([...stackers, 'waste_1', 'waste_2'], { storage: true }),
    ...each(many('pad', 9), { parking: true }),
    ...each([...hotel, ...stations], {}),
  },
  translators,
  pools: { shaker_collection: shakers },
  devices: instruments({ sites: 9, reader: 'smc_pro' }),
})

/** A third of a rack. */
const stripe = { tips_384: 128 }

export const smcAssay = workflow({
  format: 1,
  name: 'smc_assay',
  topology: 'smc',
  labware: {
    plate_1: { type: '96-well' },
    sample_plate: { type: '96-well' },
    neut_plate: { type: '384-well' },
    final_plate: { type: '384-well', group_sharing: 'SHARED_ACROSS_GROUPS', submission_batching: 'BATCHABLE' },
    tips_96: { type: '96-tips', kind: 'tip_rack', tips: 96 },
    tips_384: { type: '384-tips', kind: 'tip_rack', tips: 384 },
  },
  methods: {
    target_capture: protocol('bravo_96', 'target_capture', { labware: ['sample_plate', 'tips_96', 'plate_1'], tips: { tips_96: 96 } }),
    incubate_2hrs: shake(7200, 875),
    post_capture_spin: spin(60, 1100),
    post_capture_wash: protocol('biotek_1', 'post_capture_wash'),
    add_detection_antibody: protocol('bravo_96', 'add_detection_antibody', { labware: ['plate_1', 'tips_96'], tips: { tips_96: 96 } }),
    incubate_1hr: shake(3600, 1000),
    post_detection_wash: protocol('biotek_2', 'post_detection_wash'),
    post_detection_shake: shake(90, 750),
    final_aspiration: protocol('biotek_2', 'final_aspiration'),
    add_elution_buffer_b: protocol('bravo_384', 'add_elution_buffer_b', { labware: ['plate_1', 'tips_384'], tips: stripe }),
    incubate_10min: shake(600, 1000),
    magnetic_pellet: protocol('biotek_2', 'magnetic_pellet', { seconds: 180 }),
    neutralize_and_transfer: protocol('bravo_384', 'neutralize_and_transfer', {
      labware: ['plate_1', 'neut_plate', 'tips_384'],
      tips: stripe,
    }),
    neutralize_shake: shake(120, 1000),
    centrifuge_neut: spin(60, 1100),
    transfer_to_read_plate: protocol('bravo_384', 'transfer_to_read_plate', {
      labware: ['neut_plate', 'final_plate', 'tips_384'],
      tips: stripe,
    }),
    centrifuge: spin(60, 1100),
    read: readOn('smc_pro'),
    delid,
  },
  threads: {
    plate_1: {
      labware: 'plate_1',
      start: { at: 'stacker_3', mode: 'DISPENSE' },
      end: { at: ['waste_1'], mode: 'LEAVE_IN_PLACE' },
      contributes_to: ['neut_plate', 'tips_384'],
      steps: [
        { method: 'target_capture' },
        { method: 'incubate_2hrs' },
        { method: 'post_capture_spin' },
        { method: 'post_capture_wash' },
        { method: 'add_detection_antibody' },
        { method: 'incubate_1hr' },
        { method: 'post_detection_wash' },
        { method: 'post_detection_shake' },
        { method: 'final_aspiration' },
        { method: 'add_elution_buffer_b' },
        { method: 'incubate_10min' },
        { method: 'magnetic_pellet' },
        { method: 'neutralize_and_transfer' },
      ],
    },
    sample_plate: {
      labware: 'sample_plate',
      start: { at: 'stacker_1', mode: 'DISPENSE' },
      end: { at: ['stacker_2'], mode: 'LEAVE_IN_PLACE' },
      steps: [{ method: 'delid' }, { join: ['target_capture'] }],
    },
    neut_plate: {
      labware: 'neut_plate',
      start: { at: 'stacker_8', mode: 'DISPENSE' },
      end: { at: ['waste_1'], mode: 'LEAVE_IN_PLACE' },
      contributes_to: ['final_plate', 'tips_384'],
      steps: [
        { join: ['neutralize_and_transfer'] },
        { method: 'neutralize_shake' },
        { method: 'centrifuge_neut' },
        { method: 'transfer_to_read_plate' },
      ],
    },
    final_plate: {
      labware: 'final_plate',
      start: { at: 'stacker_4', mode: 'DISPENSE' },
      end: { at: hotel, mode: 'MANUAL_REMOVE' },
      steps: [{ while_more_work: [{ join: ['transfer_to_read_plate'] }] }, { method: 'centrifuge' }, { method: 'read' }],
    },
    tips_96: {
      labware: 'tips_96',
      start: { at: 'stacker_5', mode: 'DISPENSE' },
      end: { at: ['waste_1'], mode: 'LEAVE_IN_PLACE' },
      steps: [{ method: 'delid' }, { join: ['target_capture', 'add_detection_antibody'] }],
    },
    tips_384: {
      labware: 'tips_384',
      start: { at: 'stacker_6', mode: 'DISPENSE' },
      end: { at: ['stacker_7'], mode: 'LEAVE_IN_PLACE' },
      steps: [
        { method: 'delid' },
        {
          while_more_work: [
            { join: ['add_elution_buffer_b', 'neutralize_and_transfer', 'transfer_to_read_plate'] },
            { park: hotel.slice(1) },
          ],
        },
      ],
    },
  },
  start: ['plate_1'],
})
