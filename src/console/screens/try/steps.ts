import { difference } from '../../kit/difference.ts'
import { html, nothing, type TemplateResult } from '../../kit/html.ts'
import { milliseconds } from '../../kit/numbers.ts'
import { errorLink } from '../../kit/problem.ts'
import { table } from '../../kit/table.ts'
import { traceStep } from '../../kit/trace-step.ts'
import { link } from '../../router.ts'
import type { Bodies, Changes, DryRun, Problem, TokenStep, TransformStep } from './types.ts'

const ms = (value: number | undefined): string => (value === undefined ? '' : milliseconds(value))

const OUTCOMES = {
  good: { state: 'done', badge: ['good', 'passes'] },
  bad: { state: 'failed', badge: ['bad', 'stops here'] },
  skipped: { state: 'skipped', badge: ['', 'nothing to do'] },
} as const

const step = (
  title: string,
  outcome: keyof typeof OUTCOMES,
  took: number | undefined,
  body: TemplateResult,
): TemplateResult => traceStep({ title, ...OUTCOMES[outcome], time: ms(took), body })

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

const tokensTable = (tokens: readonly TokenStep[]): TemplateResult =>
  table<TokenStep>({
    caption: 'Tokens of the call',
    rows: tokens,
    columns: [
      { head: 'Token', kind: 'code', cell: ({ id }) => html`<a href=${link`/tokens/${id}`}>${id}</a>` },
      { head: 'Type', cell: ({ type }) => type },
      {
        head: 'Use',
        cell: (token) =>
          html`<span class="badge ${isAllowed(token) ? 'good' : 'bad'}">${isAllowed(token) ? (token.disclosure ?? 'allowed') : 'denied'}</span>`,
      },
      { head: 'Decided by', cell: decision },
      { head: 'Place', cell: ({ surfaces = [] }) => surfaces.join(', ') },
    ],
  })

const changesLine = (what: string, changes: Changes | undefined): TemplateResult | typeof nothing => {
  const parts = (['added', 'removed', 'changed'] as const).flatMap((kind) =>
    changes === undefined || changes[kind].length === 0 ? [] : [`${kind} ${changes[kind].join(', ')}`],
  )
  return parts.length === 0 ? nothing : html`<p class="small">${what}: ${parts.join('; ')}</p>`
}

const text = (value: unknown): string =>
  value === undefined ? '' : typeof value === 'string' ? value : JSON.stringify(value, null, 2)

const transformStep = (
  title: string,
  transform: TransformStep,
  { before, after }: Bodies,
  error: Problem | undefined,
): TemplateResult =>
  step(
    title,
    error === undefined ? (transform.ran ? 'good' : 'skipped') : 'bad',
    transform.timing?.wall,
    html`${transform.reason === undefined ? nothing : html`<p>${transform.reason}</p>`}
      ${error === undefined ? nothing : problemLine(error)}
      ${transform.ran ? html`${changesLine('Headers', transform.headers)} ${error === undefined ? difference(text(before), text(after), 'Body, masked') : nothing}` : nothing}
      ${
        transform.console === undefined || transform.console.length === 0
          ? nothing
          : html`<h4>Console</h4>
              <pre tabindex="0">${transform.console.map((line) => `${line.level}: ${line.text}`).join('\n')}</pre>`
      }
      ${transform.timing === undefined ? nothing : html`<p class="small soft">CPU ${ms(transform.timing.cpu)}</p>`}`,
  )

/** Stands for the path of a stored proxy, which a private key may not read. */
const CONCEALED = '/…'

interface Known {
  /** URL of the stored proxy, where one of the signed-in keys may read it. */
  readonly url: string | undefined
  /** Name of an application; undefined for one that is not known. */
  nameOf(id: string): string | undefined
}

/** The result of a dry run, as the steps of the call. */
export const steps = (run: DryRun, known: Known): TemplateResult => {
  const { tokens, stages, destination, acting, proxy_error: error } = run
  const fails = tokens.some((token) => !isAllowed(token))
  const isOfTokens =
    error !== undefined && (fails || run.request_transform === undefined || !run.request_transform.ran)
  const query =
    destination.query.length === 0 ? '' : `?${destination.query.map((name) => `${name}=…`).join('&')}`
  const { url } = known
  const to =
    url === undefined
      ? destination.url
      : destination.url.replace(CONCEALED, () => new URL(url).pathname.replace(/\/+$/, ''))
  return html`<ol class="steps try-steps" aria-label="Steps of the call">
    ${step('Authenticate', 'good', stages.authenticate, html`<p>As ${known.nameOf(acting.id) ?? html`<code>${acting.id}</code>`}, ${acting.as === 'caller' ? 'the key that is signed in' : `the ${acting.as}`}.</p>`)}
    ${step(
      'Tokens',
      isOfTokens ? 'bad' : tokens.length === 0 ? 'skipped' : 'good',
      (stages.plan ?? 0) + (stages.use ?? 0) + (stages.apply ?? 0),
      html`${tokens.length === 0 ? html`<p>The call has no expression.</p>` : tokensTable(tokens)}
      ${isOfTokens && error !== undefined ? problemLine(error) : nothing}`,
    )}
    ${
      run.request_transform === undefined
        ? nothing
        : transformStep('Request transform', run.request_transform, run.body, isOfTokens ? undefined : error)
    }
    ${step(
      'Destination',
      run.forwards ? 'good' : 'skipped',
      undefined,
      html`<p>
          ${run.forwards ? 'Would be sent to' : 'Nothing would be sent to'}
          <code>${destination.method} ${to}${query}</code>
        </p>
        ${to.includes(CONCEALED) ? html`<p class="small soft">… is the path of the proxy, which a private key may not read.</p>` : nothing}
        ${
          run.forwards && run.request_transform?.ran !== true && run.body.after !== undefined
            ? html`<details><summary>Body, masked</summary><pre tabindex="0">${text(run.body.after)}</pre></details>`
            : nothing
        }`,
    )}
    ${
      run.response_transform === undefined
        ? nothing
        : transformStep(
            'Response transform',
            run.response_transform,
            run.response?.body ?? {},
            run.response?.proxy_error,
          )
    }
  </ol>
  <ul class="small soft">${run.notes.map((note) => html`<li>${note}</li>`)}</ul>`
}
