import { definePlugin, Type } from '#sdk'
import { Sessions } from './collections.ts'
import { createLifeOf, sessionCredentials } from './credentials.ts'
import { sessionManagement } from './management.ts'
import { sessionOperations } from './operations.ts'
import { permissions } from './permissions.ts'

const config = Type.Object({
  grants: Type.Enum(['own', 'any'], {
    default: 'own',
    description:
      'What a private application may grant to a session: what it may do itself, or anything that private applications may.',
  }),
})

/** Short-lived keys of public applications, authorized by private ones (interface, "Sessions"). */
export const plugin = definePlugin({
  api: 1,
  name: 'sessions',
  version: '1.0.0',
  requires: ['applications'],
  config,
  setup: (context) => {
    const options = { within: context.config.grants === 'own' }
    const lifeOf = createLifeOf(() => context.port('applications'), options)
    return {
      operations: [...sessionOperations(context, options), ...sessionManagement(context, lifeOf)],
      collections: [Sessions],
      permissions,
      ports: { sessions: sessionCredentials(context, lifeOf, options) },
    }
  },
})
