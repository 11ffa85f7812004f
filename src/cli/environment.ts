// The environment variables, as help and the manual page list them.

export const environment = {
  BENCHD_URL: 'Service to talk to over the network.',
  BENCHD_API_KEY: 'API key for it.',
  BENCHD_FINGERPRINT: 'SHA-256 of its certificate, where no authority vouches for it.',
  BENCHD_OPERATOR: 'Name of the person, stored unchecked with each change; for a key that several people share.',
  BENCHD_DATA_DIR: 'Folder of the state, and the service on it.',
  BENCHD_CONFIG: 'The configuration.',
  BENCHD_TOPOLOGIES: 'Folder of topologies and workflows.',
  BENCHD_HOST: 'Address to listen on.',
  BENCHD_PORT: 'Port to listen on.',
  NO_COLOR: 'No colors.',
  FORCE_COLOR: 'Colors also where nobody looks.',
} as const
