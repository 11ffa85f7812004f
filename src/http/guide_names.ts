// The names of the guides that the service ships, as scripts/guides.mjs makes them.

export const guideNames = [
  'care',
  'settings',
  'workflows',
  'samples',
  'storages',
  'records',
  'commands',
  'api',
  'clients',
  'plugins',
  'drivers',
  'pylabrobot',
  'lab',
  'mqtt',
  'mcp',
] as const
