import { headerPrefix } from '../../api/prefix.ts'
import { chosenEntity } from '../../kit/entity-choice.ts'
import { action, formProblem } from '../../kit/form.ts'
import { html, nothing, ref, type TemplateResult } from '../../kit/html.ts'
import { resource } from '../../kit/resource.ts'
import { createRevealed } from '../../kit/revealed.ts'
import type { Screen, ScreenContext, ScreenInstance } from '../../kit/screen.ts'
import { computed, effect, signal } from '../../kit/signals.ts'
import { snippet } from '../../kit/snippet.ts'
import { may, session, sessionResult } from '../../session.ts'
import type { StoredProxy } from '../proxies/types.ts'
import { type Draft, issuesOf, requestOf } from './call.ts'
import { draftCode } from './code.ts'
import { type FormState, formFields } from './form.ts'
import { dryRun, responseView, send, statusBadge } from './send.ts'
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
  | { readonly kind: 'dry run'; readonly dryRun: DryRun; readonly url: string | undefined }
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
    reason: signal(''),
    choose: (id) => setFilters({ proxy: id }),
  }
  const result = sessionResult<Result>(within)
  const revealed = createRevealed(['Body of the response', 'Headers of the response'], within)
  let region: HTMLElement | undefined
  const bindRegion = (element: Element | undefined) => {
    region = element as HTMLElement | undefined
    revealed.focusAfter(element)
  }

  /** Makes the result seen where it is below the form, and gives it the focus where a disabled button lost it. */
  const reach = () => {
    if (region === undefined) return
    const isInView = region.getBoundingClientRect().top < innerHeight / 2
    if (isInView && document.activeElement !== document.body) return
    region.focus({ preventScroll: true })
    region.scrollIntoView({ block: 'nearest' })
  }
  let isDryRun = true
  const call = action(async () => {
    submitted.value = true
    draft.value = { ...draft.peek(), code: code.json() }
    if (Object.keys(issuesOf(draft.peek())).length > 0) return
    revealed.hide()
    result.value = undefined
    const request = requestOf(draft.peek(), headerPrefix(), isDryRun)
    try {
      if (isDryRun) {
        const url = proxy.peek()?.destination_url
        result.value = { kind: 'dry run', dryRun: await dryRun(api, request, within), url }
      } else {
        const { response, texts } = await send(api, request, within)
        result.value = { kind: 'sent', response }
        revealed.show(...texts)
      }
    } finally {
      setTimeout(reach)
    }
  })
  const start = (asDryRun: boolean) => (event: Event) => {
    isDryRun = asDryRun
    void call.run(event)
  }

  const copyMenu = (): TemplateResult => {
    const { method, path, headers, body } = requestOf(draft.value, headerPrefix(), false)
    const key = `${headerPrefix()}-PROXY-KEY`
    const shown = key in headers ? { ...headers, [key]: 'PROXY_KEY' } : headers
    return snippet(method, path, { headers: shown, ...(body === undefined ? {} : { body }) })
  }

  const heading = (): TemplateResult | typeof nothing => {
    const shown = result.value
    if (call.busy.value) return html`<p class="empty">Waiting for the response …</p>`
    if (shown?.kind === 'dry run')
      return html`<h2>Dry run: it would ${shown.dryRun.forwards ? '' : 'not '}be sent</h2>`
    if (shown !== undefined) return html`<h2>Response ${statusBadge(shown.response)}</h2>`
    return call.error.value === undefined
      ? html`<p class="empty">The steps of a dry run, or the response to a call, are shown here.</p>`
      : nothing
  }
  const outcome = (): TemplateResult | typeof nothing => {
    const shown = result.value
    if (shown === undefined) return nothing
    return shown.kind === 'dry run'
      ? steps(shown.dryRun, { url: shown.url, nameOf })
      : responseView(shown.response, revealed)
  }

  return {
    close: dispose,
    actions: copyMenu,
    view: () => html`<div class="try">
      <form class="try-form" novalidate @submit=${start(true)}>
        ${formFields(context, state)}
        <div class="buttons">
          <button class="primary" ?disabled=${call.busy.value}>Dry run</button>
          <button
            type="button"
            ?disabled=${call.busy.value || !may('token:use')}
            aria-describedby="try-send"
            @click=${start(false)}
          >
            Send
          </button>
          <span class="small soft" id="try-send">
            ${may('token:use') ? 'A dry run sends nothing and shows masks. Send sends the values to the destination.' : 'To send, add the key of a private application with token:use.'}
          </span>
        </div>
      </form>
      <section class="try-result" tabindex="0" aria-label="Result" ${ref(bindRegion)}>
        <div role="status">${heading()}</div>
        ${formProblem(call.error.value)} ${outcome()}
      </section>
    </div>`,
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
