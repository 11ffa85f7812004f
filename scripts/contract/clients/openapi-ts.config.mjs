export default {
  input: process.env.BENCHD_DOCUMENT,
  output: { path: 'generated/hey', module: { extension: '.js' } },
  plugins: ['@hey-api/client-fetch', '@hey-api/typescript', '@hey-api/sdk'],
}
