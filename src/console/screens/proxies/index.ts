import { html } from '../../kit/html.ts'
import { namedListScreen } from '../../kit/named-list.ts'
import type { Screen } from '../../kit/screen.ts'
import { certificateExpiry } from './certificates.ts'
import { newScreen } from './new.ts'
import { proxyScreen } from './proxy.ts'
import { certificatesOf, type StoredProxy, TRANSFORM_KINDS } from './types.ts'

const listScreen = namedListScreen<StoredProxy>({
  path: '/proxies',
  screen: '/proxies',
  title: 'Proxies',
  permission: 'proxy',
  create: 'New proxy',
  columns: [
    { head: 'Destination', kind: 'wide', cell: ({ destination_url }) => destination_url },
    {
      head: 'Callers',
      cell: ({ require_auth }) =>
        require_auth ? 'API key' : html`<span class="badge warn">anonymous</span>`,
    },
    {
      head: 'Transforms',
      cell: (proxy) =>
        TRANSFORM_KINDS.filter((kind) => proxy[kind] !== undefined)
          .map((kind) => kind.replace('_transform', ''))
          .join(', '),
    },
    {
      head: 'Certificate',
      cell: (proxy) => {
        const [first] = certificatesOf(proxy)
        return first && certificateExpiry(first)
      },
    },
  ],
  empty: 'No proxies yet. A proxy sends requests to one destination, with its settings and code.',
})

export const proxiesScreens: readonly Screen[] = [listScreen, newScreen, proxyScreen]
