import { definePlugin } from '#sdk'
import { identityNumber } from './identity-number.ts'

/** Numbers that identify people and employers in the United States (completions §5, "Types"). */
export const plugin = definePlugin({
  api: 1,
  name: 'pii',
  version: '1.0.0',
  setup: () => ({
    tokenTypes: [
      identityNumber(
        'social_security_number',
        'Social security number',
        '^[0-9]{3}-?[0-9]{2}-?[0-9]{4}$',
        '123-45-6789',
      ),
      identityNumber(
        'employer_id_number',
        'Employer identification number',
        '^[0-9]{2}-?[0-9]{7}$',
        '12-3456789',
      ),
    ],
  }),
})
