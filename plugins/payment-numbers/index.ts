import { definePlugin, type NamedCheck, type TokenType, Type } from '#sdk'

/** A string of digits with a check, fingerprinted as it is, its last four shown. */
const digits = (
  name: string,
  title: string,
  pattern: string,
  container: string,
  example: string,
  check?: NamedCheck,
  searchIndexes: readonly string[] = [],
): TokenType => ({
  name,
  title,
  data: Type.String({ pattern }),
  ...(check === undefined ? {} : { checks: [{ check, at: '' }] }),
  container,
  // `reveal` masks all of a number of up to four digits; `reveal_last` would show it.
  mask: '{{ data | reveal: 0, 4 }}',
  fingerprint: '{{ data }}',
  searchIndexes,
  examples: [example],
})

/** Single numbers of cards and bank accounts (completions §5, "Types"). */
export const plugin = definePlugin({
  api: 1,
  name: 'payment-numbers',
  version: '1.0.0',
  setup: () => ({
    tokenTypes: [
      digits('card_number', 'Card number', '^[0-9]{13,19}$', '/pci/high/', '4242424242424242', 'luhn', [
        '{{ data | last4 }}',
      ]),
      digits(
        'us_bank_account_number',
        'US bank account number',
        '^[0-9]{3,17}$',
        '/bank/high/',
        '1234567890',
      ),
      digits(
        'us_bank_routing_number',
        'US bank routing number',
        '^[0-9]{9}$',
        '/bank/low/',
        '021000021',
        'aba',
      ),
    ],
  }),
})
