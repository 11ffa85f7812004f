import fc from 'fast-check'

/** Any character of Unicode, also one that is not assigned. It is made of its number: `unit: 'binary'` of fast-check first makes a table of all million. */
export const anyCharacter = fc
  .oneof({ weight: 1, arbitrary: fc.nat({ max: 0xd7ff }) }, { weight: 16, arbitrary: fc.integer({ min: 0xe000, max: 0x10ffff }) })
  .map((code) => String.fromCodePoint(code))
