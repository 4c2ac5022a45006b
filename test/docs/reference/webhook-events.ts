import { createEventTypes } from '../../../plugins/webhooks/event-types.ts'
import { code, type Page, page, table } from './markdown.ts'
import { builtIn } from './permissions.ts'

/** What the types of one entity have in common: `token` of `token.created`. */
const entityOf = (type: string): string => type.split('.', 1)[0] ?? ''

export const webhookEvents: Page = {
  name: 'webhook-events',
  text: async () => {
    const { tokenTypes, entityTypes, operations } = await builtIn()
    const types = createEventTypes({
      tokenTypes: () => [...tokenTypes.values()],
      entityTypes: () => entityTypes,
      auditDeclarations: () => operations.flatMap(({ audit }) => (audit === 'none' ? [] : [audit])),
    }).all()
    return page(
      'Webhook events',
      `Types of events that [webhooks](../guides/webhooks.md) receive, from what operations declare about their audit records.
\`GET /webhooks/event-types\` lists those of other plugins, too.`,
      table(
        ['Entity', 'Types'],
        [...Map.groupBy(types, entityOf)].map(([entity, own]) => [code(entity), own.map(code).join(', ')]),
      ),
      `\`<entity>.denied\` is a denied call, and so is \`<entity>.<part>_denied\`. \`proxy.invoked\` is written before a call is forwarded,
\`proxy.completed\` when its outcome is known; \`proxy.read\` is a dry run. \`reactor.result_sent\` is an attempt to send a result to a callback URL. \`webhook.pinged\` is sent by
\`POST /webhooks/{id}/ping\` alone.`,
    )
  },
}
