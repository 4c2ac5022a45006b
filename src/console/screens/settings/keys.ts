import { loadMetrics } from '../../api/metrics.ts'
import type { LogEntry } from '../../api/types.ts'
import { html, type TemplateResult } from '../../kit/html.ts'
import type { ListResponse } from '../../kit/list.ts'
import { resource, show } from '../../kit/resource.ts'
import type { ScreenContext } from '../../kit/screen.ts'
import { facts } from '../../kit/section.ts'
import { relativeTime } from '../../kit/time.ts'
import { may } from '../../session.ts'

interface Keys {
  /** ms since the epoch. */
  readonly root: number | undefined
  /** ISO 8601; undefined: the audit log has no rotation. */
  readonly data: string | undefined
}

/** When the root key and the tenant's data key were last changed. */
export const createKeys = ({ api, signal: within }: ScreenContext): (() => TemplateResult) => {
  const dataKey = async (signal: AbortSignal): Promise<string | undefined> => {
    const query = { entity_type: 'tenant', size: 100 }
    const { data } = await api.call<ListResponse<LogEntry>>('GET', '/logs', { query, signal })
    return data.find(({ message }) => message.startsWith('Data key rotated'))?.created_at
  }
  const keys = resource(async (signal): Promise<Keys> => {
    const [metrics, data] = await Promise.all([
      loadMetrics(signal),
      may('log:read') ? dataKey(signal) : undefined,
    ])
    const seconds = metrics.sum('root_key_created_timestamp_seconds')
    // 0: not read yet.
    return { root: seconds ? seconds * 1_000 : undefined, data }
  }, within)

  return () =>
    show(
      keys,
      ({ root, data }) => html`${facts([
        ['Root key', root === undefined ? 'not known yet' : html`in use since ${relativeTime(root)}`],
        [
          'Data key of the tenant',
          may('log:read')
            ? data === undefined
              ? 'no rotation in the audit log'
              : html`rotated ${relativeTime(data)}`
            : undefined,
        ],
      ])}
        <p class="small soft">
          Keys are changed on the command line:
          <a href="/docs/keys-and-backup" target="_blank" rel="noopener">keys and backup</a>.
        </p>`,
    )
}
