import { copyable } from '../../kit/copy.ts'
import { html } from '../../kit/html.ts'
import { resource, show } from '../../kit/resource.ts'
import type { ScreenContext } from '../../kit/screen.ts'
import { table } from '../../kit/table.ts'
import { relativeTime } from '../../kit/time.ts'

/** `GET /tenants/self/delegations`. */
interface Delegations {
  readonly data: readonly {
    readonly name: string
    readonly status: string
    readonly created_at?: string
    readonly revoked_at?: string
    readonly data_key_versions: readonly number[]
  }[]
}

/** Gateways that hold a key for this tenant only. Commands change them. */
export const createDelegations = ({ api, signal: within }: ScreenContext) => {
  const load = (signal: AbortSignal) => api.call<Delegations>('GET', '/tenants/self/delegations', { signal })
  const delegations = resource(load, within)
  return () =>
    show(
      delegations,
      ({ data }) => html`${table({
        caption: 'Delegated gateways',
        rows: data,
        columns: [
          { head: 'Name', cell: ({ name }) => name },
          {
            head: 'State',
            cell: ({ status }) =>
              html`<span class=${status === 'active' ? 'badge good' : 'badge'}>${status}</span>`,
          },
          { head: 'Since', cell: ({ created_at, revoked_at }) => relativeTime(created_at ?? revoked_at) },
          { head: 'Data key versions', cell: ({ data_key_versions: versions }) => versions.join(', ') },
        ],
        empty: 'None. Such a gateway opens this tenant only, without the root key.',
      })}
        <p class="small soft">
          They are created and revoked on the command line:
          ${copyable('sidevault keys delegate --tenant <id> --to <name>', 'command')}
          (<a href="/docs/keys-and-backup" target="_blank" rel="noopener">guide</a>).
        </p>`,
    )
}
