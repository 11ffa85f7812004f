import { rmSync } from 'node:fs'
import { test } from 'tap'
import { HostFiles } from '../kit/host_files.ts'
import { layOut, wellPi } from '../testing/care.ts'
import { boardOf, levelOf, roomInWords, thisHost } from './host.ts'

test('a Raspberry Pi tells of its clock, its voltage and its processor', async (t) => {
  const root = t.testdir()
  layOut(root, wellPi)
  const host = thisHost({ data_dir: root, root })
  t.match(await host.look(), { clock_synced: true, under_voltage: false, temperature: { celsius: 48.199, hot: 80 } })
  t.equal(await host.underVoltage(), false)
  layOut(root, { '/sys/class/hwmon/hwmon1/in0_lcrit_alarm': '1\n', '/sys/class/thermal/thermal_zone0/temp': '81500\n' })
  rmSync(`${root}/run/systemd/timesync/synchronized`)
  t.match(await host.look(), { clock_synced: false, under_voltage: true, temperature: { celsius: 81.5 } })
  t.equal(await host.underVoltage(), true)
  t.same(await boardOf(new HostFiles(root)), { model: 'Raspberry Pi 4 Model B Rev 1.5', kernel: '6.12.34+rpt-rpi-v8' })
})

test('what a computer cannot tell is not known, and is not bad', async (t) => {
  const root = t.testdir()
  const { room, wall_ahead_ms, ...facts } = await thisHost({ data_dir: root, root }).look()
  t.same(facts, { clock_synced: null, under_voltage: null, temperature: null })
  t.ok(room && room.free <= room.total)
  t.ok(Math.abs(wall_ahead_ms - (Date.now() - performance.now())) < 1000)
  t.same(await boardOf(new HostFiles(root)), { model: null, kernel: null })
  t.equal((await thisHost({ data_dir: `${root}/none`, root }).look()).room, null)
})

test('sensors of other things are not taken for the processor, nor one that is switched off', async (t) => {
  const root = t.testdir()
  layOut(root, {
    '/sys/class/thermal/thermal_zone0/type': 'acpitz\n',
    '/sys/class/thermal/thermal_zone0/temp': '99000\n',
    '/sys/class/hwmon/hwmon0/name': 'nvme\n',
    '/sys/class/hwmon/hwmon0/temp1_input': '90000\n',
    '/sys/class/hwmon/hwmon3/name': 'coretemp\n',
    '/sys/class/hwmon/hwmon3/temp1_input': '0\n',
  })
  t.equal((await thisHost({ data_dir: root, root }).look()).temperature, null)
  layOut(root, { '/sys/class/hwmon/hwmon3/temp1_input': '61000\n' })
  t.same((await thisHost({ data_dir: root, root }).look()).temperature, { celsius: 61, hot: 95 })
})

test('a disk is scarce of room below a tenth, a large one below ten gigabytes', (t) => {
  const levels = [
    [32e9, 3.3e9, 'enough'],
    [32e9, 3.1e9, 'scarce'],
    [32e9, 0.6e9, 'nearly none'],
    [1e12, 11e9, 'enough'],
    [1e12, 9e9, 'scarce'],
    [1e12, 1e9, 'nearly none'],
  ] as const
  for (const [total, free, level] of levels) t.equal(levelOf({ total, free }), level, `${free} of ${total}`)
  t.equal(roomInWords({ total: 32e9, free: 3e9 }), '9.4 % (3.0 GB of 32 GB)')
  t.equal(roomInWords({ total: 32e9, free: 16e9 }), '50 % (16 GB of 32 GB)')
  t.equal(roomInWords({ total: 0, free: 0 }), '0.0 % (0 MB of 0 MB)')
  t.end()
})
