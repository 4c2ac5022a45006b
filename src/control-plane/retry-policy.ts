/**
 * Bridges the restart of a gateway or admin process, for some three seconds (24 jittered pauses of 0.12 s on average).
 * Only failed connections are retried (Envoy's `connect-failure`), so no process has seen the request. Never used
 * towards destinations.
 */
export const RECONNECT = {
  retry_on: 'connect-failure',
  num_retries: 24,
  retry_back_off: { base_interval: '0.05s', max_interval: '0.25s' },
}
