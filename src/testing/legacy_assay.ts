// An older arrangement of the same assay, a hard case for the scheduler: each instrument has one position, and every other position is a parking
// position, even in the middle of all routes. The moves here are the fewest that do the work: 28 for the plate.

import {
  delid,
  each,
  instruments,
  many,
  protocol,
  readOn,
  shake,
  shakers,
  sites,
  spin,
  stations,
  translators,
  zone,
} from '../examples/smc_parts.ts'
import { topology, workflow } from '../workflow/plans/author.ts'

const stackers = many('stacker', 7)

/** The reader stands beside `smc_pro`, which had no device in that arrangement. A liquid handler takes all its labware in by its one position. */
export const legacyTopology = topology({
  format: 1,
  name: 'smc-legacy',
  transporters: {
    ddr_1: zone('biotek_1', 'bravo_96', 'waste_1', many('pad', 3), 'translator_1_start'),
    ddr_2: zone('centrifuge', 'sealer', stackers, shakers, many('pad', 3, 4), 'translator_1_end', 'translator_2_start'),
    ddr_3: zone('biotek_2', 'bravo_384', 'plate_hotel', 'smc_pro', 'reader', 'delidder', 'waste_2', many('pad', 3, 7), 'translator_2_end'),
  },
  positions: {
    ...sites(['biotek_1', 'biotek_2', 'bravo_96', 'bravo_384', 'centrifuge', 'sealer', 'reader', 'delidder', ...shakers]),
    ...each([...stackers, 'waste_1'], { storage: true }),
    ...each([...many('pad', 9), 'smc_pro', 'waste_2'], { parking: true }),
    ...each(['plate_hotel', ...stations], {}),
  },
  translators,
  pools: { shaker_collection: shakers },
  devices: instruments({ sites: 3, reader: 'reader' }),
})

/** A rack is used up by one action. */
const rack96 = { tips_96: 96 }
const rack384 = { tips_384: 384 }

export const legacyAssay = workflow({
  format: 1,
  name: 'smc_assay_legacy',
  topology: 'smc-legacy',
  labware: {
    plate_1: { type: '96-well' },
    sample_plate: { type: '96-well' },
    final_plate: { type: '384-well' },
    tips_96: { type: '96-tips', kind: 'tip_rack', tips: 96 },
    tips_384: { type: '384-tips', kind: 'tip_rack', tips: 384 },
  },
  methods: {
    sample_to_bead_plate: protocol('bravo_96', 'sample_to_bead_plate', { labware: ['sample_plate', 'tips_96', 'plate_1'], tips: rack96 }),
    incubate_2hrs: shake(7200, 875),
    post_capture_wash: protocol('biotek_1', 'post_capture_wash'),
    add_detection_antibody: protocol('bravo_96', 'add_detection_antibody', { labware: ['plate_1', 'tips_96'], tips: rack96 }),
    incubate_1hr: shake(3600, 1000),
    pre_transfer_wash: protocol('biotek_2', 'pre_transfer_wash'),
    discard_supernatant: protocol('biotek_2', 'discard_supernatant'),
    add_elution_buffer_b: protocol('bravo_384', 'add_elution_buffer_b', { labware: ['plate_1', 'tips_384'], tips: rack384 }),
    incubate_10min: shake(600, 1000),
    add_buffer_d: protocol('bravo_384', 'add_buffer_d', { labware: ['plate_1', 'tips_384'], tips: rack384 }),
    combine_plates: protocol('bravo_384', 'combine_plates', { labware: ['plate_1', 'final_plate', 'tips_384'], tips: rack384 }),
    transfer_eluate: protocol('bravo_384', 'transfer_eluate', { labware: ['final_plate', 'tips_384'], tips: rack384 }),
    centrifuge: spin(1200, 2000),
    read: readOn('reader'),
    delid,
  },
  threads: {
    plate_1: {
      labware: 'plate_1',
      start: { at: 'stacker_3', mode: 'DISPENSE' },
      end: { at: ['waste_1'], mode: 'LEAVE_IN_PLACE' },
      steps: [
        { method: 'sample_to_bead_plate' },
        { method: 'incubate_2hrs' },
        { method: 'post_capture_wash' },
        { method: 'add_detection_antibody' },
        { method: 'incubate_1hr' },
        { method: 'pre_transfer_wash' },
        { method: 'discard_supernatant' },
        { method: 'add_elution_buffer_b' },
        { method: 'incubate_10min' },
        { method: 'add_buffer_d' },
        { method: 'combine_plates' },
      ],
    },
    sample_plate: {
      labware: 'sample_plate',
      start: { at: 'stacker_1', mode: 'DISPENSE' },
      end: { at: ['stacker_2'], mode: 'LEAVE_IN_PLACE' },
      steps: [{ method: 'delid' }, { join: ['sample_to_bead_plate'] }],
    },
    final_plate: {
      labware: 'final_plate',
      start: { at: 'stacker_4', mode: 'DISPENSE' },
      end: { at: ['plate_hotel'], mode: 'MANUAL_REMOVE' },
      steps: [{ join: ['combine_plates'] }, { method: 'transfer_eluate' }, { method: 'centrifuge' }, { method: 'read' }],
    },
    tips_96: {
      labware: 'tips_96',
      start: { at: 'stacker_5', mode: 'DISPENSE' },
      end: { at: ['waste_1'], mode: 'LEAVE_IN_PLACE' },
      steps: [{ method: 'delid' }, { join: ['sample_to_bead_plate', 'add_detection_antibody'] }],
    },
    tips_384: {
      labware: 'tips_384',
      start: { at: 'stacker_6', mode: 'DISPENSE' },
      end: { at: ['stacker_7'], mode: 'LEAVE_IN_PLACE' },
      steps: [{ method: 'delid' }, { join: ['add_elution_buffer_b', 'add_buffer_d', 'combine_plates', 'transfer_eluate'] }],
    },
  },
  start: ['plate_1'],
})
