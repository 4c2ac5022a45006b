import { difference } from '../../kit/difference.ts'
import { html, nothing, type TemplateResult } from '../../kit/html.ts'
import { milliseconds } from '../../kit/numbers.ts'
import { errorLink } from '../../kit/problem.ts'
import { type Column, table } from '../../kit/table.ts'
import { traceStep } from '../../kit/trace-step.ts'
import { link } from '../../router.ts'
import { session } from '../../session.ts'

// Types of the response (docs/guides/dry-runs.md).

interface TokenStep {
  readonly id: string
  readonly use: 'allowed' | 'unknown' | 'denied' | 'unresolved'
  readonly type?: string
  readonly disclosure?: string
  readonly surfaces?: readonly string[]
  readonly destination?: { readonly host: string; readonly allowed: boolean; readonly by: string | null }
  readonly decided_by?: {
    readonly permission?: string
    readonly rule?: { readonly description: string; readonly priority: number; readonly container?: string }
  }
}

interface CheckStep {
  readonly name: string
  readonly on: string
  readonly fail: 'closed' | 'open'
  readonly verdict: string
  readonly labels?: Readonly<Record<string, string>>
  readonly code?: string
  readonly detail?: string
  readonly ms?: number
}

interface TransformStep {
  readonly ran: boolean
  readonly reason?: string
  readonly console?: readonly { readonly level: string; readonly text: string }[]
  readonly timing?: { readonly cpu: number; readonly wall: number }
  readonly headers?: Readonly<Record<'added' | 'removed' | 'changed', readonly string[]>>
}

interface Problem {
  readonly status: number
  readonly code: string
  readonly title: string
  readonly detail: string
}

interface Bodies {
  readonly before?: unknown
  readonly after?: unknown
}

export interface DryRun {
  readonly forwards: boolean
  readonly proxy_error?: Problem
  readonly destination: { readonly method: string; readonly url: string; readonly query: readonly string[] }
  readonly acting: { readonly id: string; readonly as: string }
  readonly tokens: readonly TokenStep[]
  readonly checks?: readonly CheckStep[]
  readonly request_transform?: TransformStep
  readonly response_transform?: TransformStep
  readonly body: Bodies
  readonly response?: { readonly body: Bodies; readonly proxy_error?: Problem }
  readonly stages: Readonly<Partial<Record<string, number>>>
  readonly notes: readonly string[]
}

const OUTCOMES = {
  good: { state: 'done', badge: ['good', 'passes'] },
  bad: { state: 'failed', badge: ['bad', 'stops here'] },
  skipped: { state: 'skipped', badge: ['', 'nothing to do'] },
} as const

const step = (
  title: string,
  outcome: keyof typeof OUTCOMES,
  ms: number | undefined,
  body: TemplateResult,
): TemplateResult =>
  traceStep({ title, ...OUTCOMES[outcome], time: ms === undefined ? '' : milliseconds(ms), body })

const problemLine = ({ status, code, title, detail }: Problem): TemplateResult =>
  html`<p class="error">${status} ${title}: ${detail} ${errorLink(code)}</p>`

/** The sentence of what decided about a token. */
const decision = ({ use, decided_by, destination }: TokenStep): string => {
  if (use === 'unknown') return 'no such token'
  if (use === 'denied') return 'no permission and no rule grants token:use'
  if (use === 'unresolved') return 'not looked up: the key has no token:use'
  if (destination?.allowed === false)
    return `may not go to ${destination.host}, by the list of the ${destination.by}`
  const { rule, permission } = decided_by ?? {}
  if (rule === undefined) return `permission ${permission ?? 'token:use'}`
  return `rule ${rule.priority} “${rule.description}”${rule.container === undefined ? '' : ` on ${rule.container}`}`
}

const isAllowed = ({ use, destination }: TokenStep): boolean =>
  use === 'allowed' && destination?.allowed !== false

const useBadge = (token: TokenStep): TemplateResult =>
  isAllowed(token)
    ? html`<span class="badge good">${token.disclosure ?? 'allowed'}</span>`
    : html`<span class="badge bad">denied</span>`

/** Whether a call continues behind a check. */
const isPassed = ({ verdict, fail }: CheckStep): boolean =>
  verdict !== 'denied' && (fail === 'open' || !['failed', 'timed_out'].includes(verdict))

const CHECK_COLUMNS: readonly Column<CheckStep>[] = [
  { head: 'Check', kind: 'code', cell: ({ name }) => name },
  { head: 'On', cell: ({ on }) => on },
  {
    head: 'Verdict',
    cell: (check) =>
      html`<span class=${`badge ${isPassed(check) ? 'good' : 'bad'}`}>${check.verdict.replaceAll('_', ' ')}</span>`,
  },
  {
    head: 'Detail',
    cell: ({ code, detail, labels = {} }) =>
      code === undefined
        ? Object.entries(labels)
            .map((label) => label.join('='))
            .join(', ')
        : `${code}: ${detail}`,
  },
]

const checksStep = (checks: readonly CheckStep[], error: Problem | undefined): TemplateResult =>
  step(
    'Checks of plugins',
    error === undefined ? 'good' : 'bad',
    checks.reduce((sum, { ms = 0 }) => sum + ms, 0),
    html`${table({ caption: 'Checks of the call', rows: checks, columns: CHECK_COLUMNS })}
    ${error && problemLine(error)}`,
  )

/** Codes of the errors of checks. */
const OF_CHECKS = ['denied_by_plugin', 'check_unavailable']

const COLUMNS: readonly Column<TokenStep>[] = [
  { head: 'Token', kind: 'code', cell: ({ id }) => html`<a href=${link`/tokens/${id}`}>${id}</a>` },
  { head: 'Type', cell: ({ type }) => type },
  { head: 'Use', cell: useBadge },
  { head: 'Decided by', cell: decision },
  { head: 'Place', cell: ({ surfaces = [] }) => surfaces.join(', ') },
]

const text = (value: unknown): string =>
  value === undefined ? '' : typeof value === 'string' ? value : JSON.stringify(value, null, 2)

const transformStep = (
  title: string,
  { ran, reason, headers, console: lines = [], timing }: TransformStep,
  { before, after }: Bodies = {},
  error?: Problem,
): TemplateResult => {
  const changes = Object.entries(headers ?? {}).flatMap(([kind, names]) =>
    names.length === 0 ? [] : [`${kind} ${names.join(', ')}`],
  )
  return step(
    title,
    error !== undefined ? 'bad' : ran ? 'good' : 'skipped',
    timing?.wall,
    html`${reason && html`<p>${reason}</p>`} ${error && problemLine(error)}
      ${ran && changes.length > 0 ? html`<p class="small">Headers: ${changes.join('; ')}</p>` : nothing}
      ${ran && error === undefined ? difference(text(before), text(after), 'Body, masked') : nothing}
      ${
        lines.length === 0
          ? nothing
          : html`<h4>Console</h4>
              <pre tabindex="0">${lines.map(({ level, text }) => `${level}: ${text}`).join('\n')}</pre>`
      }
      ${timing && html`<p class="small soft">CPU ${milliseconds(timing.cpu)}</p>`}`,
  )
}

/** Stands for the path of a stored proxy, which a private key may not read. */
const CONCEALED = '/…'

/** Name of an application whose key is signed in. */
const nameOf = (id: string): string | undefined =>
  [session.value?.private, session.value?.management].find((key) => key?.application.id === id)?.application
    .name

const destinationStep = (
  { forwards, destination, request_transform, body }: DryRun,
  url: string | undefined,
): TemplateResult => {
  const to =
    url === undefined
      ? destination.url
      : destination.url.replace(CONCEALED, () => new URL(url).pathname.replace(/\/+$/, ''))
  const query = destination.query.map((name, index) => `${index === 0 ? '?' : '&'}${name}=…`).join('')
  return step(
    'Destination',
    forwards ? 'good' : 'skipped',
    undefined,
    html`<p>
        ${forwards ? 'Would be sent to' : 'Nothing would be sent to'}
        <code>${destination.method} ${to}${query}</code>
      </p>
      ${to.includes(CONCEALED) ? html`<p class="small soft">… is the path of the proxy, which a private key may not read.</p>` : nothing}
      ${
        forwards && request_transform?.ran !== true && body.after !== undefined
          ? html`<details><summary>Body, masked</summary><pre tabindex="0">${text(body.after)}</pre></details>`
          : nothing
      }`,
  )
}

/** The result of a dry run, as the steps of the call. `url`: that of the stored proxy, where a key may read it. */
export const steps = (run: DryRun, url: string | undefined): TemplateResult => {
  const { tokens, stages, acting, request_transform: request, response_transform: onResponse } = run
  const ofChecks = OF_CHECKS.includes(run.proxy_error?.code ?? '') ? run.proxy_error : undefined
  const other = ofChecks === undefined ? run.proxy_error : undefined
  const isOfTokens = other !== undefined && (!tokens.every(isAllowed) || request?.ran !== true)
  const ofTokens = isOfTokens ? other : undefined
  return html`<ol class="steps" aria-label="Steps of the call">
    ${step(
      'Authenticate',
      'good',
      stages.authenticate,
      html`<p>As ${nameOf(acting.id) ?? html`<code>${acting.id}</code>`}, ${acting.as === 'caller' ? 'the key that is signed in' : `the ${acting.as}`}.</p>`,
    )}
    ${run.checks && checksStep(run.checks, ofChecks)}
    ${step(
      'Tokens',
      isOfTokens ? 'bad' : tokens.length === 0 ? 'skipped' : 'good',
      (stages.plan ?? 0) + (stages.use ?? 0) + (stages.apply ?? 0),
      html`${
        tokens.length === 0
          ? html`<p>The call has no expression.</p>`
          : table({ caption: 'Tokens of the call', rows: tokens, columns: COLUMNS })
      }
      ${ofTokens && problemLine(ofTokens)}`,
    )}
    ${request && transformStep('Request transform', request, run.body, isOfTokens ? undefined : other)}
    ${destinationStep(run, url)}
    ${onResponse && transformStep('Response transform', onResponse, run.response?.body, run.response?.proxy_error)}
  </ol>
  <ul class="small soft">${run.notes.map((note) => html`<li>${note}</li>`)}</ul>`
}
