import { headerPrefix } from '../../api/prefix.ts'
import { problemOf } from '../../api/problem.ts'
import { copy } from '../../kit/copy.ts'
import { type Action, action } from '../../kit/form.ts'
import { html, nothing, type TemplateResult } from '../../kit/html.ts'
import { icon } from '../../kit/icon.ts'
import { problem } from '../../kit/problem.ts'
import type { Screen, ScreenContext, ScreenInstance } from '../../kit/screen.ts'
import { signal } from '../../kit/signals.ts'
import { link } from '../../router.ts'
import { may, session, signIn } from '../../session.ts'
import { isVaultEmpty } from './empty-vault.ts'
import { APPLICATION, CARD, DEMO_URL, payment, shellLines } from './steps.ts'

interface Step {
  readonly number: number
  readonly title: string
  readonly text: TemplateResult
  readonly button: string
  readonly run: Action
  readonly isReady: boolean
  /** Result of the step; undefined until it ran. */
  readonly result: TemplateResult | undefined
  readonly line: string
}

const step = ({
  number,
  title,
  text,
  button,
  run,
  isReady,
  result,
  line,
}: Step): TemplateResult => html`<li class=${result === undefined ? '' : 'done'}>
  <span class="step">${result === undefined ? number : html`${icon('check')}<span class="visually-hidden">done</span>`}</span>
  <h2>${title}</h2>
  <p>${text}</p>
  <div class="buttons">
    <button
      type="button"
      class=${isReady && result === undefined ? 'primary' : ''}
      ?disabled=${!isReady || run.busy.value}
      @click=${run.run}
    >
      ${button}
    </button>
  </div>
  ${run.error.value === undefined ? nothing : problem(run.error.value)}
  <div class="part" role="status">${result ?? nothing}</div>
  <details>
    <summary>As curl</summary>
    <pre tabindex="0" aria-label=${`${title}, as curl`}>${line}</pre>
    <button type="button" @click=${() => void copy(line, 'Copied. Set SIDEVAULT_API_KEY to the management key.')}>
      Copy
    </button>
  </details>
</li>`

const pretty = (value: unknown): string => JSON.stringify(value, null, 2)

/** The body that the demo destination received: it responds with the request. */
const receivedIn = (response: string): string => {
  try {
    return pretty((JSON.parse(response) as { readonly body?: unknown }).body)
  } catch {
    return response
  }
}

const open = ({ api }: ScreenContext): ScreenInstance => {
  const token = signal<string | undefined>(undefined)
  const receivedBody = signal<string | undefined>(undefined)

  // The key goes from the response into the session, and stays in no variable of the page.
  const createApplication = action(async () => {
    const { key } = await api.call<{ readonly key: string }>('POST', '/applications', { body: APPLICATION })
    await signIn(key)
  })
  const createToken = action(async () => {
    token.value = (await api.call<{ readonly id: string }>('POST', '/tokens', { body: CARD })).id
  })
  const send = action(async () => {
    const response = await api.raw('POST', '/proxy', {
      headers: { [`${headerPrefix()}-PROXY-URL`]: DEMO_URL },
      body: payment(token.peek() ?? ''),
    })
    if (!response.ok) throw await problemOf(response)
    receivedBody.value = receivedIn(await response.text())
  })

  const view = (): TemplateResult => {
    const own = session.value?.private
    const hasKey = APPLICATION.permissions.every((permission) => own?.permissions.includes(permission))
    const [first, second, third] = shellLines({ origin: location.origin, prefix: headerPrefix() })
    return html`<p>Store a card, send it to a destination, and see that only the destination gets its number.</p>
      <ol class="minute">
        ${step({
          number: 1,
          title: 'Create an application',
          text: html`Applications hold keys. This one may create, read and use tokens. Its key is added to this session.`,
          button: 'Create application',
          run: createApplication,
          isReady: !hasKey && own === undefined && may('application:create'),
          result: hasKey
            ? html`<p>Signed in as <a href=${link`/applications/${own?.application.id ?? ''}`}>${own?.application.name}</a>.</p>`
            : undefined,
          line: first,
        })}
        ${step({
          number: 2,
          title: 'Store a card',
          text: html`The number is encrypted. You get a token: an id that is worth nothing to others.`,
          button: 'Create token',
          run: createToken,
          isReady: hasKey,
          result:
            token.value === undefined
              ? undefined
              : html`<p>Token <a href=${link`/tokens/${token.value}`}><code>${token.value}</code></a> created.</p>`,
          line: second,
        })}
        ${step({
          number: 3,
          title: 'Send it',
          text: html`The call to <code>${DEMO_URL}</code> has the token in its body. The proxy puts the number in its place.`,
          button: 'Send',
          run: send,
          isReady: token.value !== undefined,
          result:
            receivedBody.value === undefined
              ? undefined
              : html`<dl class="both">
                    <div><dt>You sent</dt><dd><pre>${pretty(payment(token.value ?? ''))}</pre></dd></div>
                    <div><dt>The destination received</dt><dd><pre>${receivedBody.value}</pre></dd></div>
                  </dl>
                  <p><a href="#/requests">See the call</a>, or <a href="#/try">try another one</a>.</p>`,
          line: third,
        })}
      </ol>`
  }
  return { view }
}

export const startScreens: readonly Screen[] = [
  {
    path: '/start',
    title: 'First minute',
    /** In the navigation of a vault without tokens. */
    get nav() {
      return isVaultEmpty.value ? 'First minute' : undefined
    },
    needs: (may) => may('application:create') || may('token:create'),
    open,
  },
]
