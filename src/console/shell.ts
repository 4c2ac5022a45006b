import { dialogRegion, hasDialog } from './kit/dialog.ts'
import { html, nothing, ref, type TemplateResult } from './kit/html.ts'
import { icon } from './kit/icon.ts'
import { notice, noticeRegion } from './kit/notice.ts'
import { problem } from './kit/problem.ts'
import { effect, signal } from './kit/signals.ts'
import { currentHeading, currentScreen, hasScreens, navigationCount, reopen, screens } from './navigation.ts'
import { restoreScroll } from './scroll.ts'
import {
  type Identity,
  isOfKind,
  may,
  missingKey,
  type SessionStatus,
  session,
  sessionStatus,
  signOut,
} from './session.ts'
import { addKeyButton, endedPage, signInPage } from './sign-in.ts'

/** Wide enough for the navigation beside the page; style.css has the same width. */
const wideQuery = globalThis.matchMedia?.('(min-width: 56rem)')
const isWide = signal(wideQuery?.matches ?? true)
wideQuery?.addEventListener('change', ({ matches }) => {
  isWide.value = matches
})

const IS_MAC = /Mac|iP/.test(globalThis.navigator?.platform ?? '')

const openSearch = async (): Promise<void> => {
  const { openPalette } = await import('./palette.ts')
  if (!hasDialog()) await openPalette(screens.peek())
}
const search = (): void => {
  openSearch().catch(() => notice('error', 'Search did not load. Reload the page.'))
}

/** Screens that show more with a key of the other kind. There the navigation offers to add it. */
const MISSED = { management: '/requests', private: '/tokens' } as const

const links = (): TemplateResult => {
  const { path: open = '', under } = currentScreen.value.screen ?? {}
  const missing = missingKey()
  return html`<ul>
    ${screens.value.map(
      ({ path, nav, needs }) =>
        html`${
          nav === undefined || !needs(may)
            ? nothing
            : html`<li>
              <a href=${`#${path}`} aria-current=${open === path ? 'page' : under === path || open.startsWith(`${path}/`) ? 'true' : nothing}>${nav}</a>
            </li>`
        }${missing !== undefined && path === MISSED[missing] ? html`<li>${addKeyButton(missing)}</li>` : nothing}`,
    )}
  </ul>`
}

const identity = (kind: string, holder: Identity | undefined): TemplateResult | typeof nothing =>
  holder === undefined
    ? nothing
    : html`<p><span class="badge">${kind}</span> <span class="clip">${holder.application.name}</span></p>`

const account = (): TemplateResult => {
  const signedIn = session.value
  const tenant = signedIn?.management?.tenant ?? signedIn?.private?.tenant
  return html`<section class="account" aria-label="Signed in as">
    ${tenant?.name === undefined ? nothing : html`<p class="clip soft">${tenant.name}</p>`}
    ${identity('management', signedIn?.management)} ${identity('private', signedIn?.private)}
    <button type="button" @click=${signOut}>Sign out</button>
  </section>`
}

const menuContent = (): TemplateResult => html`<div class="menu">
  <div>
    <button type="button" class="find" aria-keyshortcuts=${IS_MAC ? 'Meta+K' : 'Control+K'} @click=${search}>
      ${icon('search')} Search <kbd>${IS_MAC ? '⌘K' : 'Ctrl K'}</kbd>
    </button>
    <nav aria-label="Screens">${links()}</nav>
  </div>
  ${account()}
</div>`

/** The menu of a narrow window. It closes with Escape, a click beside it, and what is chosen in it. */
let menu: HTMLDialogElement | undefined
const closeMenu = (): void => menu?.close()
const closeAtChoice = {
  // Before the choice takes effect, so that the focus is at the button of the menu again.
  capture: true,
  handleEvent: ({ target }: Event) => {
    if (target instanceof Element && target.closest('a, button') !== null) closeMenu()
  },
}
const onMenu = (element: Element | undefined): void => {
  menu = element instanceof HTMLDialogElement ? element : undefined
}

const narrowMenu =
  (): TemplateResult => html`<button type="button" aria-haspopup="dialog" @click=${() => menu?.showModal()}>
    ${icon('menu')} Menu
  </button>
  <dialog closedby="any" aria-label="Menu" ${ref(onMenu)} @click=${closeAtChoice}>
    <button type="button" class="plain" aria-label="Close">${icon('close')}</button>
    ${menuContent()}
  </dialog>`

const notAllowed = (): TemplateResult => {
  const missing = missingKey()
  const helps =
    missing !== undefined &&
    currentScreen.value.screen?.needs((permission) => may(permission) || isOfKind(missing, permission))
  return html`<p>Your keys do not have permission to see this page.</p>
    ${helps ? addKeyButton(missing) : html`<p>Sign in with a key that has it.</p>`}`
}

const screenBody = (): TemplateResult => {
  const { instance, unavailable } = currentScreen.value
  if (unavailable === 'not found') return html`<p>There is no such page. Choose one from the navigation.</p>`
  if (unavailable === 'not allowed') return notAllowed()
  try {
    return instance?.view() ?? html``
  } catch (error) {
    console.error(error)
    return problem(error, reopen)
  }
}

const screenActions = (): TemplateResult | typeof nothing => {
  const { instance } = currentScreen.value
  return instance?.actions === undefined ? nothing : html`<div class="buttons">${instance.actions()}</div>`
}

let heading: Element | undefined

const frame = (): TemplateResult => html`<a
    class="skip"
    href="#main"
    @click=${(event: Event) => {
      event.preventDefault()
      if (heading instanceof HTMLElement) heading.focus()
    }}
    >Skip to content</a
  >
  <div class="frame">
    <header class="side">
      <a class="logo" href="#/">
        <svg viewBox="0 0 20 20" aria-hidden="true"><path d="M3 3h14v14H3z" /><path d="M10 6.5v7M6.5 10h7" /></svg>
        Sidevault
      </a>
      ${isWide.value ? menuContent() : narrowMenu()}
    </header>
    <main id="main">
      <header class="page">
        <h1
          tabindex="-1"
          ${ref((element) => {
            heading = element
          })}
        >
          ${currentHeading.value}
        </h1>
        ${screenActions()}
      </header>
      ${screenBody()}
    </main>
  </div>`

/** The whole page. */
export const page = (): TemplateResult => {
  const status = sessionStatus.value
  if (status === 'unknown' || (status === 'signed in' && !hasScreens.value)) return html`${noticeRegion()}`
  if (status === 'signed out') return signInPage()
  const hasEnded = status === 'ended'
  return html`<div ?hidden=${hasEnded} ?inert=${hasEnded}>${frame()} ${hasEnded ? nothing : dialogRegion()}</div>
    ${hasEnded ? endedPage() : nothing} ${hasDialog() && !hasEnded ? nothing : noticeRegion()}`
}

effect(() => {
  const text = sessionStatus.value === 'signed in' ? currentHeading.value : 'Sign in'
  if (globalThis.document !== undefined) document.title = `${text} · Sidevault`
})

const focusHeading = (): void => {
  if (heading instanceof HTMLElement) heading.focus({ preventScroll: true })
}

let statusBefore: SessionStatus = 'unknown'
effect(() => {
  const status = sessionStatus.value
  if (status !== 'signed in') closeMenu()
  // The form that had the focus is gone.
  if (status === 'signed in' && statusBefore !== 'unknown') queueMicrotask(focusHeading)
  statusBefore = status
})

effect(() => {
  if (navigationCount.value < 2) return
  queueMicrotask(() => {
    restoreScroll()
    focusHeading()
  })
})

/** The field that `/` leads to: the first search of the screen. */
const searchField = (): HTMLInputElement | undefined =>
  [...document.querySelectorAll<HTMLInputElement>('main :is([type="search"], [role="search"] input)')].find(
    (input) => input.checkVisibility(),
  )

const onKey = (event: KeyboardEvent): void => {
  const { key, altKey, ctrlKey, metaKey, target } = event
  if (
    sessionStatus.peek() !== 'signed in' ||
    event.isComposing ||
    document.querySelector('dialog:modal') !== null
  )
    return
  const isTyping = target instanceof Element && target.matches('input, textarea, select, [contenteditable]')
  if (
    key.toLowerCase() === 'k' &&
    (IS_MAC ? metaKey && !ctrlKey : ctrlKey && !metaKey) &&
    !altKey &&
    !event.shiftKey
  ) {
    event.preventDefault()
    search()
  } else if (key === '/' && !isTyping && !altKey && !ctrlKey && !metaKey) {
    const field = searchField()
    if (field === undefined) return
    event.preventDefault()
    field.focus()
  }
}
globalThis.document?.addEventListener('keydown', onKey)
