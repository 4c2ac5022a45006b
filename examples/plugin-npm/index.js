import { definePlugin, Type } from 'sidevault/sdk'
import { checkDigit } from './check-digit.js'

/** Seventeen characters without I, O and Q (ISO 3779). */
const VIN = '^[A-HJ-NPR-Za-hj-npr-z0-9]{17}$'

/**
 * Token type `vin`. Configured by SIDEVAULT_PLUGIN_CONFIG, e.g. {"vin":{"check_digit":false}} for vehicles without a
 * check
 * digit.
 */
export const plugin = definePlugin({
  api: 1,
  name: 'vin',
  version: '1.0.0',
  config: Type.Object({ check_digit: Type.Boolean({ default: true }) }),
  setup: ({ config }) => ({
    tokenTypes: [
      {
        name: 'vin',
        title: 'Vehicle identification number',
        data: { type: 'string', pattern: VIN },
        normalize: (vin) => String(vin).toUpperCase(),
        check: (vin) =>
          config.check_digit && checkDigit(String(vin)) !== String(vin)[8]
            ? [{ at: '', message: 'must have a valid check digit' }]
            : [],
        container: '/vehicles/low/',
        mask: '{{ data | reveal: 3, 4 }}',
        fingerprint: '{{ data }}',
        searchIndexes: ['{{ data }}', '{{ data | slice: 0, 3 }}'],
      },
    ],
  }),
})
