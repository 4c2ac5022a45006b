import { headerPrefix } from '../../api/prefix.ts'
import { chosenEntity } from '../../kit/entity-choice.ts'
import { action, formProblem } from '../../kit/form.ts'
import { createRef, html, nothing, ref, type TemplateResult } from '../../kit/html.ts'
import { resource } from '../../kit/resource.ts'
import { createRevealed } from '../../kit/revealed.ts'
import type { May, Screen, ScreenContext, ScreenInstance } from '../../kit/screen.ts'
import { computed, effect, type ReadonlySignal, signal } from '../../kit/signals.ts'
import { snippet } from '../../kit/snippet.ts'
import { may, sessionResult } from '../../session.ts'
import type { StoredProxy } from '../proxies/types.ts'
import { INITIAL, issuesOf, requestOf } from './call.ts'
import { draftCode } from './code.ts'
import { type DryRun, steps } from './dry-run.ts'
import { checkVault, firstMinute, isVaultEmpty } from './first-minute.ts'
import { callFields } from './form.ts'
import { responseView, send } from './send.ts'

/** The call that was tried last: it stays while the page does, and is stored nowhere. */
const draft = signal(INITIAL)

interface Result {
  readonly heading: TemplateResult
  readonly view: () => TemplateResult
  /** The call was sent, and succeeded. */
  readonly isSent?: boolean
}

const mayTry = (may: May): boolean => may('token:use') || may('proxy:read')

/** `isFirst`: the first minute is shown above the form. */
const open = (context: ScreenContext, isFirst: ReadonlySignal<boolean | undefined>): ScreenInstance => {
  const { api, filters, signal: within } = context
  if (isVaultEmpty.peek() === undefined) void checkVault()
  const loaded = resource<readonly StoredProxy[]>(async (signal) => {
    if (!may('proxy:read')) return []
    const query = { size: 100 }
    return (await api.call<{ data: readonly StoredProxy[] }>('GET', '/proxies', { query, signal })).data
  }, within)
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
  const issues = computed(() => (submitted.value ? issuesOf(draft.value) : {}))
  const fields = callFields(context, { draft, proxies, proxy, code, issues })
  const result = sessionResult<Result>(within)
  const revealed = createRevealed(['Body of the response', 'Headers of the response'], within)
  const region = createRef<HTMLElement>()

  /** Makes the result seen where it is below the form, and gives it the focus where a disabled button lost it. */
  const reach = () => {
    const isInView = (region.value?.getBoundingClientRect().top ?? 0) < innerHeight / 2
    if (isInView && document.activeElement !== document.body) return
    region.value?.focus({ preventScroll: true })
    region.value?.scrollIntoView({ block: 'nearest' })
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
        const { method, path } = request
        const made = await api.call<DryRun>(method, path, { ...request, signal: within })
        result.value = {
          heading: html`Dry run: it would ${made.forwards ? '' : 'not '}be sent`,
          view: () => steps(made, url),
        }
      } else {
        const [sent, ...texts] = await send(api, request, within)
        const isGood = sent.status < 400
        result.value = {
          heading: html`Response <span class="badge ${isGood ? 'good' : 'bad'}">${sent.status}</span>`,
          view: () => responseView(sent, revealed),
          isSent: isGood,
        }
        revealed.show(...texts)
      }
    } finally {
      setTimeout(reach)
    }
  })
  const run = (asDryRun: boolean, event?: Event): Promise<void> => {
    isDryRun = asDryRun
    return call.run(event)
  }
  const minute = firstMinute(context, {
    isShown: isFirst,
    draft,
    send: () => run(false),
    isSent: () => result.value?.isSent === true,
  })

  const heading = (): TemplateResult | typeof nothing => {
    if (call.busy.value) return html`<p class="empty">Waiting for the response …</p>`
    if (result.value !== undefined) return html`<h2>${result.value.heading}</h2>`
    if (call.error.value !== undefined) return nothing
    return html`<p class="empty">The steps of a dry run, or the response to a call, are shown here.</p>`
  }

  return {
    close: dispose,
    actions: () => {
      const proxyKey = draft.value.proxyKey && 'PROXY_KEY'
      const { method, path, ...options } = requestOf({ ...draft.value, proxyKey }, headerPrefix(), false)
      return snippet(method, path, options)
    },
    view: () => html`<div class="try">
      <div>
        ${minute()}
        <form
          class="try-fields"
          novalidate
          autocomplete="off"
          spellcheck="false"
          autocapitalize="off"
          @submit=${(event: Event) => void run(true, event)}
        >
          ${fields()}
          <div class="buttons">
            <button class="primary" ?disabled=${call.busy.value || !mayTry(may)}>Dry run</button>
            <button
              type="button"
              ?disabled=${call.busy.value || !may('token:use')}
              aria-describedby="try-send"
              @click=${() => void run(false)}
            >
              Send
            </button>
            <span class="small soft" id="try-send">
              ${
                may('token:use')
                  ? 'A dry run sends nothing and shows masks. Send sends the values to the destination.'
                  : 'To send, add the key of a private application with token:use.'
              }
            </span>
          </div>
        </form>
      </div>
      <section class="try-result" tabindex="0" aria-label="Result" ${ref(region)} ${ref(revealed.focusAfter)}>
        <div role="status">${heading()}</div>
        ${formProblem(call.error.value)} ${result.value?.view()}
      </section>
    </div>`,
  }
}

export const tryCallScreens: readonly Screen[] = [
  {
    path: '/try',
    title: 'Try a call',
    nav: 'Try a call',
    needs: mayTry,
    open: (context) => open(context, isVaultEmpty),
  },
  {
    path: '/start',
    title: 'First minute',
    /** In the navigation of an empty vault, for keys that see no other screen with it. */
    get nav() {
      return isVaultEmpty.value && !mayTry(may) ? 'First minute' : undefined
    },
    needs: (may) => may('application:create') || may('token:create'),
    open: (context) => open(context, signal(true)),
  },
]
