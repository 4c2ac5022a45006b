import { field } from '../../kit/form.ts'
import { html, nothing } from '../../kit/html.ts'
import { mayHoldData } from '../../kit/may-hold-data.ts'
import type { Screen, ScreenContext, ScreenInstance } from '../../kit/screen.ts'
import { signal, untracked } from '../../kit/signals.ts'
import { link } from '../../router.ts'
import { may, missingKey } from '../../session.ts'
import { addKeyButton } from '../../sign-in.ts'
import { openList } from './list.ts'
import { openToken } from './token.ts'

const LISTING = ['token:read', 'token:search']
const SHOWING = ['token:read', 'application:read', 'log:read']

/** For keys that may not list tokens: a token by its id. */
const openLookup = (context: ScreenContext): ScreenInstance => {
  /** The token of an id that may be data by mistake: it is shown here, so that the address does not hold it. */
  const opened = signal<ScreenInstance | undefined>(undefined)
  const close = () => {
    opened.peek()?.close?.()
    opened.value = undefined
  }
  const open = (event: SubmitEvent) => {
    event.preventDefault()
    const id = String(new FormData(event.currentTarget as HTMLFormElement).get('id') ?? '').trim()
    if (mayHoldData(id)) opened.value = openToken({ ...context, params: { id }, title: () => {} })
    else if (id !== '') context.navigate(link`/tokens/${id}`)
  }
  const form = () => html`<p>
      The key that is signed in may not list tokens. It shows who can see a token, and its history.
    </p>
    ${missingKey() === 'private' ? html`<p>${addKeyButton('private')}</p>` : nothing}
    <form class="inline" role="search" @submit=${open}>
      ${field({
        label: 'Token id',
        control: html`<input name="id" autocomplete="off" spellcheck="false" autocapitalize="off" required />`,
      })}
      <button class="primary">Open</button>
    </form>`
  const result = (shown: ScreenInstance) => html`<p class="soft small">
      An id that may be data stays out of the page's address and of the browser's history.
    </p>
    <div class="buttons"><button type="button" @click=${close}>Open another</button></div>
    ${shown.view()}`
  return {
    view: () => (opened.value === undefined ? form() : result(opened.value)),
    actions: () => opened.value?.actions?.() ?? html``,
    close,
  }
}

/** Opens the screen again when a key is added: each kind of key shows parts that the other one may not see. */
const reopenOnKeyChange =
  (open: Screen['open']): Screen['open'] =>
  (context) => {
    const permissionsOfKeys = () => [...LISTING, ...SHOWING].filter(may).join()
    let before = permissionsOfKeys()
    let opened = open(context)
    const current = () => {
      if (permissionsOfKeys() !== before) {
        before = permissionsOfKeys()
        opened.close?.()
        opened = untracked(() => open(context))
      }
      return opened
    }
    return {
      view: () => current().view(),
      actions: () => current().actions?.() ?? html``,
      close: () => opened.close?.(),
    }
  }

export const tokensScreens: readonly Screen[] = [
  {
    path: '/tokens',
    title: 'Tokens',
    nav: 'Tokens',
    needs: (may) => [...LISTING, ...SHOWING].some(may),
    open: reopenOnKeyChange((context) => (LISTING.some(may) ? openList(context) : openLookup(context))),
  },
  {
    path: '/tokens/:id',
    title: 'Token',
    needs: (may) => SHOWING.some(may),
    open: reopenOnKeyChange(openToken),
  },
]
