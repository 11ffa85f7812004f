import { test } from 'tap'
import { lineOf, sysfsChips } from './pin_chips.ts'

const files = {
  gpiochip512: { label: 'gpio-brcmstb@107d508500\n', base: '512\n', ngpio: '32\n' },
  gpiochip569: { label: 'pinctrl-rp1\n', base: '569\n', ngpio: '54\n' },
  export: '',
}

test('a number on the header is counted from the base of the chip with the right label', async (t) => {
  const chips = await sysfsChips(t.testdir(files))
  const { chip, line } = lineOf({ bcm: 17 }, chips)
  t.equal(chip.base! + line, 586)
  t.match(lineOf({ chip: 'gpio-brcmstb@107d508500', line: 3 }, chips), { chip: { base: 512 }, line: 3 })
  t.match(lineOf({ chip: 'gpiochip512', line: 3 }, chips), { chip: { base: 512 }, line: 3 })
})

test('a line that is not there is refused with those that are', async (t) => {
  const chips = await sysfsChips(t.testdir(files))
  t.throws(() => lineOf({ bcm: 54 }, chips), { code: 'disconnected', message: /no GPIO 54: gpiochip569 \(pinctrl-rp1\) has lines 0 to 53/ })
  t.throws(() => lineOf({ chip: 'gpiochip1', line: 0 }, chips), { message: /the GPIO chips here are gpiochip512 \(gpio-brcmstb/ })
  t.throws(() => lineOf({ bcm: 17 }, []), { message: /the GPIO chips here are none/ })
})

test('a label that two chips have says nothing of which it is', async (t) => {
  const mcp = { label: 'mcp23017\n', ngpio: '16\n' }
  const chips = await sysfsChips(t.testdir({ gpiochip600: { ...mcp, base: '600\n' }, gpiochip616: { ...mcp, base: '616\n' } }))
  const message = /more than one line 3 of mcp23017: on gpiochip600 \(mcp23017\) and gpiochip616 \(mcp23017\); call the chip by its name/
  t.throws(() => lineOf({ chip: 'mcp23017', line: 3 }, chips), { code: 'disconnected', message })
  t.match(lineOf({ chip: 'gpiochip616', line: 3 }, chips), { chip: { base: 616 } })
})

test('without sysfs there are no chips', async (t) => {
  t.same(await sysfsChips(`${t.testdir()}/gone`), [])
})
