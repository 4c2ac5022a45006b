import { html } from '../../kit/html.ts'
import { namedListScreen } from '../../kit/named-list.ts'
import type { Screen } from '../../kit/screen.ts'
import { newWebhookScreen } from './new.ts'
import type { Webhook } from './types.ts'
import { statusOf, webhookScreen } from './webhook.ts'

const list = namedListScreen<Webhook>({
  path: '/webhooks',
  screen: '/webhooks',
  title: 'Webhooks',
  permission: 'webhook',
  create: 'New webhook',
  columns: [
    { head: 'URL', kind: 'wide', cell: ({ url }) => html`<code>${url}</code>` },
    { head: 'Events', kind: 'number', cell: ({ events }) => events.length },
    { head: 'Status', cell: statusOf },
  ],
  empty: 'No webhooks yet. A webhook posts events to a URL: a token was created, a key deleted.',
})

export const webhooksScreens: readonly Screen[] = [list, newWebhookScreen, webhookScreen]
