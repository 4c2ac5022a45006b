import { definePlugin, Type } from '#sdk'

/** Accounts at banks of the United States (completions §5, "Types"). */
export const plugin = definePlugin({
  api: 1,
  name: 'bank',
  version: '1.0.0',
  setup: () => ({
    tokenTypes: [
      {
        name: 'bank',
        title: 'Bank account',
        data: Type.Object({
          routing_number: Type.String({ pattern: '^[0-9]{9}$' }),
          account_number: Type.String({ pattern: '^[0-9]{1,17}$' }),
        }),
        checks: [{ check: 'aba', at: '/routing_number' }],
        container: '/bank/high/',
        mask: {
          routing_number: '{{ data.routing_number }}',
          // `reveal` masks all of an account number of up to four digits; `reveal_last` would show it.
          account_number: '{{ data.account_number | reveal: 0, 4 }}',
        },
        fingerprint: '{{ data.account_number }}|{{ data.routing_number }}',
        examples: [{ routing_number: '021000021', account_number: '1234567890' }],
      },
    ],
  }),
})
