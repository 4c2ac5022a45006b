import { definePlugin, type PermissionInfo, Type } from '#sdk'
import { Deliveries, Webhooks } from './collections.ts'
import { createSender } from './delivery.ts'
import { createEventTypes, type EventTypes } from './event-types.ts'
import { webhookOperations } from './operations.ts'
import { createSubscriptions } from './subscriptions.ts'

/** Seconds between two searches for deliveries that are due. */
const SEARCH = 30
/** Webhooks that are searched, of all tenants. */
const MAX_WEBHOOKS = 100_000

const permission = (type: string, description: string): PermissionInfo => ({
  type,
  description,
  application_types: ['management'],
})

/**
 * Webhooks: what happens to a tenant's entities is posted to its URLs (completions §19). Made of the public SDK alone:
 * a consumer of audit records, a job, operations and collections.
 */
export const plugin = definePlugin({
  api: 1,
  name: 'webhooks',
  version: '1.0.0',
  config: Type.Object({
    max: Type.Integer({ minimum: 1, maximum: 100, default: 5, description: 'Webhooks of a tenant.' }),
  }),
  setup: (context) => {
    const stopping = new AbortController()
    const sender = createSender(context, stopping.signal)
    let known: EventTypes | undefined
    const types = (): EventTypes => {
      known ??= createEventTypes(context)
      return known
    }
    const handle = createSubscriptions(context, { types, sender })
    return {
      operations: webhookOperations(context, { types, sender, max: context.config.max }),
      collections: [Webhooks, Deliveries],
      permissions: [
        permission('webhook:create', 'Create webhooks, which receive the events of all entities'),
        permission('webhook:read', 'Read webhooks and their deliveries'),
        permission('webhook:update', 'Update webhooks, replace their secrets, ping and redeliver'),
        permission('webhook:delete', 'Delete webhooks'),
      ],
      consumers: [
        {
          name: 'events',
          from: 'now',
          isIdle: async () => (await context.records(Webhooks).newest(1)).length === 0,
          handle,
        },
      ],
      jobs: [
        {
          name: 'retries',
          every: SEARCH,
          run: async (signal) => {
            for (const { tenantId, record } of await context.records(Webhooks).newest(MAX_WEBHOOKS)) {
              if (signal.aborted) return
              if (record.status === 'enabled') await sender.wakeIfDue(tenantId, record.id)
            }
          },
        },
      ],
      stop: async () => {
        stopping.abort()
        await sender.settled()
      },
    }
  },
})
