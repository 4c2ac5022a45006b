import { headerPrefix } from '../../api/prefix.ts'
import { chosenEntity } from '../../kit/entity-choice.ts'
import { action, formProblem } from '../../kit/form.ts'
import { html, nothing, type TemplateResult } from '../../kit/html.ts'
import { resource } from '../../kit/resource.ts'
import type { Screen, ScreenContext, ScreenInstance } from '../../kit/screen.ts'
import { computed, effect, signal } from '../../kit/signals.ts'
import { snippet } from '../../kit/snippet.ts'
import { may, session, sessionResult } from '../../session.ts'
import type { StoredProxy } from '../proxies/types.ts'
import { type Draft, issuesOf, requestOf } from './call.ts'
import { draftCode } from './code.ts'
import { type FormState, formFields } from './form.ts'
import { dryRun, responseView, send } from './send.ts'
import { steps } from './steps.ts'
import type { DryRun, ProxyResponse } from './types.ts'

/** The call that was tried last: it stays while the page does, and is stored nowhere. */
const draft = signal<Draft>({
  method: 'POST',
  url: '',
  proxyKey: '',
  path: '',
  headers: '',
  body: '{\n  "card": ""\n}',
  response: '{"status": 200, "headers": {"content-type": "application/json"}, "body": {}}',
  code: '',
})

type Result =
  | { readonly kind: 'dry run'; readonly dryRun: DryRun }
  | { readonly kind: 'sent'; readonly response: ProxyResponse }

/** Name of an application whose key is signed in; undefined for others. */
const nameOf = (id: string): string | undefined =>
  [session.value?.private, session.value?.management].find((key) => key?.application.id === id)?.application
    .name

const open = (context: ScreenContext): ScreenInstance => {
  const { api, filters, setFilters, signal: within } = context
  const loaded = resource<readonly StoredProxy[]>(
    async (signal) =>
      may('proxy:read')
        ? (
            await api.call<{ data: readonly StoredProxy[] }>('GET', '/proxies', {
              query: { size: 100 },
              signal,
            })
          ).data
        : [],
    within,
  )
  const proxy = chosenEntity<StoredProxy>({
    api,
    path: '/proxies',
    id: () => (may('proxy:read') ? (filters.value.get('proxy') ?? '') : ''),
    candidates: () => loaded.value.value,
    signal: within,
  })
  /** The newest, and the chosen one. */
  const proxies = computed(() => [
    ...new Set([...(loaded.value.value ?? []), ...(proxy.value === undefined ? [] : [proxy.value])]),
  ])
  // The hash has the id of a proxy, never its key.
  const dispose = effect(() => {
    const key = proxy.value?.key
    if (may('proxy:read') && loaded.value.value !== undefined)
      draft.value = { ...draft.peek(), proxyKey: key ?? '' }
  })

  const code = draftCode(proxy, within)
  const submitted = signal(false)
  const state: FormState = {
    draft,
    proxies,
    proxy,
    code,
    issues: computed(() => (submitted.value ? issuesOf(draft.value) : {})),
    choose: (id) => setFilters({ proxy: id }),
  }
  const result = sessionResult<Result>(within)

  const callAction = (work: () => Promise<Result>) =>
    action(async () => {
      submitted.value = true
      draft.value = { ...draft.peek(), code: code.json() }
      if (Object.keys(issuesOf(draft.peek())).length > 0) return
      result.value = undefined
      result.value = await work()
    })
  const request = (isDryRun: boolean) => requestOf(draft.peek(), headerPrefix(), isDryRun)
  const dryRunAction = callAction(async () => ({
    kind: 'dry run',
    dryRun: await dryRun(api, request(true), within),
  }))
  const sendAction = callAction(async () => ({
    kind: 'sent',
    response: await send(api, request(false), within),
  }))

  const copyMenu = (): TemplateResult => {
    const { method, path, headers, body } = requestOf(draft.value, headerPrefix(), false)
    const key = `${headerPrefix()}-PROXY-KEY`
    const shown = key in headers ? { ...headers, [key]: 'PROXY_KEY' } : headers
    return snippet(method, path, { headers: shown, ...(body === undefined ? {} : { body }) })
  }

  const outcome = (): TemplateResult | typeof nothing => {
    const shown = result.value
    if (shown === undefined) return nothing
    return shown.kind === 'dry run'
      ? html`<section aria-labelledby="try-result">
          <h2 id="try-result">${shown.dryRun.forwards ? 'Dry run: it would be sent' : 'Dry run: it would not be sent'}</h2>
          ${steps(shown.dryRun, nameOf)}
        </section>`
      : html`<section aria-labelledby="try-result">
          <h2 id="try-result">Response</h2>
          ${responseView(shown.response)}
        </section>`
  }

  return {
    close: dispose,
    actions: copyMenu,
    view: () => {
      const isBusy = dryRunAction.busy.value || sendAction.busy.value
      return html`<form class="try-form" novalidate @submit=${dryRunAction.run}>
          ${formFields(context, state)}
          <div class="buttons">
            <button class="primary" ?disabled=${isBusy}>Dry run</button>
            <button
              type="button"
              ?disabled=${isBusy || !may('token:use')}
              aria-describedby="try-send"
              @click=${sendAction.run}
            >
              Send
            </button>
            <span class="small soft" id="try-send">
              ${may('token:use') ? 'A dry run sends nothing and shows masks. Send sends the values to the destination.' : 'To send, add the key of a private application with token:use.'}
            </span>
          </div>
        </form>
        <div role="status" class="visually-hidden">${isBusy ? 'Working' : result.value === undefined ? '' : 'Done'}</div>
        ${formProblem(dryRunAction.error.value ?? sendAction.error.value)} ${outcome()}`
    },
  }
}

export const tryCallScreens: readonly Screen[] = [
  {
    path: '/try',
    title: 'Try a call',
    nav: 'Try a call',
    needs: (may) => may('token:use') || may('proxy:read'),
    open,
  },
]
