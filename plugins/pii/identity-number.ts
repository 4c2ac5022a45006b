import type { TokenType } from '#sdk'
import { Type } from '#sdk'

/** Nine digits, stored as written. Both spellings, with and without dashes, have one fingerprint and are found. */
export const identityNumber = (name: string, title: string, pattern: string, example: string): TokenType => ({
  name,
  title,
  data: Type.String({ pattern }),
  container: '/pii/high/',
  mask: '{{ data | reveal_last: 4 }}',
  fingerprint: "{{ data | remove: '-' }}",
  searchIndexes: ['{{ data }}', "{{ data | remove: '-' }}", '{{ data | last4 }}'],
  examples: [example, example.replaceAll('-', '')],
})
