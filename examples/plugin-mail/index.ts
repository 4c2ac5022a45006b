import { access, constants, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { definePlugin, Type } from 'sidevault/sdk'
import { messageOf } from './message.ts'

/** Mails invitations: each becomes a file in a folder from which a mail server picks up what it sends. */
export const plugin = definePlugin({
  api: 1,
  name: 'mail',
  version: '1.0.0',
  requires: ['members'],
  config: Type.Object({
    outbox: Type.String({ pattern: '^/', description: 'The folder, with its whole path.' }),
    from: Type.String({ minLength: 3 }),
    page: Type.String({ format: 'uri', description: 'Where invitations are accepted.' }),
  }),
  setup: ({ config }) => ({
    ports: {
      invitations: {
        invited: async (invitation) => {
          // Under its own name first, so that nobody picks up half a message; one that is sent again replaces the first.
          const path = join(config.outbox, `${invitation.id}.eml`)
          await writeFile(`${path}.part`, messageOf(invitation, config), { mode: 0o600 })
          await rename(`${path}.part`, path)
        },
      },
    },
    health: () => access(config.outbox, constants.W_OK),
  }),
})
