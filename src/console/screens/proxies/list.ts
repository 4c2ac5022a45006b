import { html, nothing, type TemplateResult } from '../../kit/html.ts'
import { namedList } from '../../kit/named-list.ts'
import type { Screen } from '../../kit/screen.ts'
import { now, when } from '../../kit/time.ts'
import { may } from '../../session.ts'
import { type Certificate, certificatesOf, type StoredProxy } from './types.ts'

/** ms before the end of a certificate from which it is marked. */
const SOON_MS = 30 * 86_400_000

/** When a certificate ends, marked in words when it did or will soon. */
export const ending = ({ expires_at }: Certificate): TemplateResult => {
  const left = Date.parse(expires_at) - now.value
  if (left <= 0) return html`<span class="badge bad">ended</span> ${when(expires_at)}`
  return left < SOON_MS
    ? html`<span class="badge warn">ends soon</span> ${when(expires_at)}`
    : html`ends ${when(expires_at)}`
}

const code = ({ request_transform, response_transform }: StoredProxy) =>
  [
    ...(request_transform === undefined ? [] : ['request']),
    ...(response_transform === undefined ? [] : ['response']),
  ].join(', ')

export const listScreen: Screen = {
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
            return first === undefined ? nothing : ending(first)
          },
        },
        { head: 'Changed', cell: ({ modified_at, created_at }) => when(modified_at ?? created_at) },
      ],
      empty: html`No proxies yet. A proxy sends requests to one destination, with its settings and code.`,
    }),
}
