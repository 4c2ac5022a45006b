import { access, constants, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { definePlugin, Type } from 'sidevault/sdk'
import { messageOf } from './message.ts'

/** Mails invitations: writes each to a file in the pickup folder of a mail server. */
export const plugin = definePlugin({
  api: 1,
  name: 'mail',
  version: '1.0.0',
  requires: ['members'],
  config: Type.Object({
    outbox: Type.String({ pattern: '^/', description: 'The folder, as an absolute path.' }),
    from: Type.String({ minLength: 3 }),
    page: Type.String({ format: 'uri', description: 'Where invitations are accepted.' }),
  }),
  setup: ({ config }) => ({
    ports: {
      invitations: {
        onInvited: async (invitation) => {
          // Written to a temporary name first, so that no partial message is picked up. A repeated one replaces the
          // first.
          const path = join(config.outbox, `${invitation.id}.eml`)
          await writeFile(`${path}.part`, messageOf(invitation, config), { mode: 0o600 })
          await rename(`${path}.part`, path)
        },
      },
    },
    health: () => access(config.outbox, constants.W_OK),
  }),
})
