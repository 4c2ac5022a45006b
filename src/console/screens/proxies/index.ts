import { html, nothing } from '../../kit/html.ts'
import { namedList } from '../../kit/named-list.ts'
import type { Screen } from '../../kit/screen.ts'
import { relativeTime } from '../../kit/time.ts'
import { may } from '../../session.ts'
import { certificateExpiry } from './certificates.ts'
import { newScreen } from './new.ts'
import { proxyScreen } from './proxy.ts'
import { certificatesOf, type StoredProxy } from './types.ts'

const code = ({ request_transform, response_transform }: StoredProxy) =>
  [
    ...(request_transform === undefined ? [] : ['request']),
    ...(response_transform === undefined ? [] : ['response']),
  ].join(', ')

const listScreen: Screen = {
  path: '/proxies',
  title: 'Proxies',
  nav: 'Proxies',
  needs: (may) => may('proxy:read'),
  open: (context) =>
    namedList<StoredProxy>(context, {
      path: '/proxies',
      screen: '/proxies',
      title: 'Proxies',
      create: may('proxy:create') ? 'New proxy' : undefined,
      columns: [
        { head: 'Name', cell: ({ name }) => name },
        { head: 'Destination', kind: 'wide', cell: ({ destination_url }) => destination_url },
        {
          head: 'Callers',
          cell: ({ require_auth }) =>
            require_auth ? 'API key' : html`<span class="badge warn">anonymous</span>`,
        },
        { head: 'Transforms', cell: (proxy) => code(proxy) },
        {
          head: 'Certificate',
          cell: (proxy) => {
            const [first] = certificatesOf(proxy)
            return first === undefined ? nothing : certificateExpiry(first)
          },
        },
        { head: 'Changed', cell: ({ modified_at, created_at }) => relativeTime(modified_at ?? created_at) },
      ],
      empty: html`No proxies yet. A proxy sends requests to one destination, with its settings and code.`,
    }),
}

export const proxiesScreens: readonly Screen[] = [listScreen, newScreen, proxyScreen]
