/**
 * Bridges the restart of a process of ours, for one or two seconds. Only what no process has seen is tried again: a
 * connection that could not be made (Envoy's `connect-failure`). Never used towards destinations.
 */
export const RECONNECT = {
  retry_on: 'connect-failure',
  num_retries: 10,
  retry_back_off: { base_interval: '0.05s', max_interval: '0.25s' },
}
