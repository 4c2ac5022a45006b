import { definePlugin, Type } from 'sidevault/sdk'
import { Checks, checkOperations } from './checks.ts'
import { mrzNumber } from './mrz.ts'
import { passport } from './passport.ts'

/** Passports: a token type, a filter for `/proxy`, and a check that does not disclose the passport to its caller. */
export const plugin = definePlugin({
  api: 1,
  name: 'passport',
  version: '1.0.0',
  config: Type.Object({ grace_days: Type.Integer({ minimum: 0, maximum: 365, default: 0 }) }),
  setup: (context) => ({
    tokenTypes: [passport],
    filters: { mrz_number: mrzNumber },
    collections: [Checks],
    permissions: [
      { type: 'passport:check', description: 'Check passports for expiry', application_types: ['private'] },
    ],
    operations: checkOperations(context, context.config.grace_days),
  }),
})
