import { headerPrefix } from '../../api/prefix.ts'
import { copy } from '../../kit/copy.ts'
import { action, formProblem } from '../../kit/form.ts'
import { html, nothing, type TemplateResult } from '../../kit/html.ts'
import type { ListResponse } from '../../kit/list.ts'
import type { ScreenContext } from '../../kit/screen.ts'
import { type ReadonlySignal, type Signal, signal } from '../../kit/signals.ts'
import { traceStep } from '../../kit/trace-step.ts'
import { link } from '../../router.ts'
import { api, may, session, signIn } from '../../session.ts'
import type { Usage } from '../settings/usage.ts'
import { type Draft, INITIAL } from './call.ts'
import { APPLICATION, CARD, DEMO_URL, payment, shellLines } from './first-calls.ts'

const isEmpty = signal<boolean | undefined>(undefined)

/**
 * True on a vault without tokens and proxies, as it was when that was looked at last. Undefined: the keys may not see
 * that, or Sidevault did not respond.
 */
export const isVaultEmpty: ReadonlySignal<boolean | undefined> = isEmpty

const look = async (): Promise<boolean | undefined> => {
  if (!may('report:read')) return undefined
  const signal = AbortSignal.timeout(2_000)
  const usage = api.call<Usage>('GET', '/tenants/self/reports/usage', { signal })
  const proxies = may('proxy:read')
    ? api.call<ListResponse<unknown>>('GET', '/proxies', { query: { size: 1 }, signal })
    : { data: [] }
  const [{ token_report }, { data }] = await Promise.all([usage, proxies])
  return token_report.total_tokens === 0 && data.length === 0
}

/** Looks whether the vault is empty. */
export const checkVault = async (): Promise<boolean> => {
  isEmpty.value = await look().catch(() => undefined)
  return isEmpty.peek() === true
}

interface Call {
  readonly isShown: ReadonlySignal<boolean | undefined>
  /** The form. */
  readonly draft: Signal<Draft>
  /** Sends what the form has. Never rejects: the form shows errors. */
  send(): Promise<void>
  /** The call that is shown was sent, and succeeded. */
  isSent(): boolean
}

/** Three steps from an empty vault to a call that has a token. The last one sends the form. */
export const firstMinute = (
  { setFilters }: ScreenContext,
  call: Call,
): (() => TemplateResult | typeof nothing) => {
  const token = signal<string | undefined>(undefined)

  // The key goes from the response into the session, and stays in no variable of the page.
  const createApplication = action(async () => {
    const { key } = await api.call<{ readonly key: string }>('POST', '/applications', { body: APPLICATION })
    await signIn(key)
  })
  const createToken = action(async () => {
    const { id } = await api.call<{ readonly id: string }>('POST', '/tokens', { body: CARD })
    token.value = id
    setFilters({ proxy: undefined })
    call.draft.value = { ...INITIAL, url: DEMO_URL, body: JSON.stringify(payment(id), null, 2) }
    void checkVault()
  })
  const send = action(call.send)

  const steps = () => {
    const own = session.value?.private
    const hasKey = APPLICATION.permissions.every((permission) => own?.permissions.includes(permission))
    const id = token.value
    return [
      {
        title: 'Create an application',
        text: 'Applications hold keys. This one may create, read and use tokens. Its key is added to this session.',
        button: 'Create application',
        run: createApplication,
        isReady: own === undefined && may('application:create'),
        result:
          hasKey &&
          html`Signed in as <a href=${link`/applications/${own?.application.id ?? ''}`}>${own?.application.name}</a>.`,
      },
      {
        title: 'Store a card',
        text: 'The number is encrypted. You get a token: an id that is worth nothing to others.',
        button: 'Create token',
        run: createToken,
        isReady: hasKey,
        result:
          id !== undefined && html`Token <a href=${link`/tokens/${id}`}><code>${id}</code></a> created.`,
      },
      {
        title: 'Send it',
        text: html`The call to <code>${DEMO_URL}</code> has the token in its body. The proxy puts the number in its place.`,
        button: 'Send it',
        run: send,
        isReady: id !== undefined,
        result:
          id !== undefined &&
          call.isSent() &&
          html`The response shows what the destination received, and the form what you sent.
            <a href="#/requests">See the call</a>, or change the form and try another one.`,
      },
    ]
  }

  return () => {
    if (!call.isShown.value && token.value === undefined) return nothing
    const lines = shellLines({ origin: location.origin, prefix: headerPrefix() })
    return html`<section class="part" aria-labelledby="minute">
      <h2 id="minute">Store a card, send it, and see that only the destination gets its number</h2>
      <ol class="steps">
        ${steps().map(({ title, text, button, run, isReady, result }, index) =>
          traceStep({
            title: `${index + 1}. ${title}`,
            state: result ? 'done' : 'skipped',
            ...(result ? { badge: ['good', 'done'] } : {}),
            time: '',
            body: html`<p>${text}</p>
              <div class="buttons">
                <button
                  type="button"
                  class=${isReady && !result ? 'primary' : ''}
                  ?disabled=${!isReady || run.busy.value}
                  @click=${run.run}
                >
                  ${button}
                </button>
              </div>
              ${formProblem(run.error.value)}
              <p role="status">${result || nothing}</p>
              <details>
                <summary>As curl</summary>
                <pre tabindex="0" aria-label=${`${title}, as curl`}>${lines[index]}</pre>
                <button
                  type="button"
                  @click=${() => void copy(lines[index] ?? '', 'Copied. Set SIDEVAULT_API_KEY to the management key.')}
                >
                  Copy
                </button>
              </details>`,
          }),
        )}
      </ol>
    </section>`
  }
}
