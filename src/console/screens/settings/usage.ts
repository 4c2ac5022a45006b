import { html, type TemplateResult } from '../../kit/html.ts'
import { count } from '../../kit/numbers.ts'
import { resource, show } from '../../kit/resource.ts'
import type { ScreenContext } from '../../kit/screen.ts'
import { figures } from '../../kit/section.ts'
import { table } from '../../kit/table.ts'
import { relativeTime } from '../../kit/time.ts'

/** `GET /tenants/self/reports/usage`. */
export interface Usage {
  readonly token_report: {
    readonly metrics_by_type: Readonly<
      Record<string, { readonly count: number; readonly last_created_at?: string }>
    >
    readonly included_monthly_active_tokens: number
    readonly monthly_active_tokens: number
    readonly total_tokens: number
  }
}

const view = ({ token_report: report }: Usage): TemplateResult => html`${figures([
  { label: 'Tokens', value: count(report.total_tokens) },
  { label: 'Active this month', value: count(report.monthly_active_tokens) },
  {
    label: 'Included a month',
    value:
      report.included_monthly_active_tokens === 0
        ? 'unlimited'
        : count(report.included_monthly_active_tokens),
  },
])}
  ${table({
    caption: 'Tokens by type',
    rows: Object.entries(report.metrics_by_type),
    columns: [
      { head: 'Type', cell: ([type]) => type },
      { head: 'Tokens', kind: 'number', cell: ([, { count: number }]) => count(number) },
      { head: 'Last created', cell: ([, { last_created_at }]) => relativeTime(last_created_at) },
    ],
    empty: html`No tokens yet. <a href="#/start">Create the first one.</a>`,
  })}`

/** Numbers of tokens of the tenant. */
export const createUsage = ({ api, signal: within }: ScreenContext): (() => TemplateResult) => {
  const usage = resource(
    (signal) => api.call<Usage>('GET', '/tenants/self/reports/usage', { signal }),
    within,
  )
  return () => show(usage, view)
}
