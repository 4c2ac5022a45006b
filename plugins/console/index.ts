import { definePlugin } from '#sdk'
import { ConsoleSessions } from './collections.ts'
import { consoleSessions } from './sessions.ts'

/** Sessions of people who signed in to the console with their keys (completions §16). */
export const plugin = definePlugin({
  api: 1,
  name: 'console',
  version: '1.0.0',
  requires: ['applications'],
  setup: (context) => ({
    collections: [ConsoleSessions],
    entities: ['console_session'],
    ports: { console: consoleSessions(context) },
  }),
})
