/** What the systemd unit gives Node: with it memory is measured, for so the service runs where there is little. */
export const unitFlags = ['--max-semi-space-size=2', '--disable-proto=delete', '--max-old-space-size=256']
