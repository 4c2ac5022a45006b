import { dialogRegion, hasDialog } from './kit/dialog.ts'
import { html, nothing, ref, type TemplateResult } from './kit/html.ts'
import { notice, noticeRegion } from './kit/notice.ts'
import { problem } from './kit/problem.ts'
import { effect, signal } from './kit/signals.ts'
import {
  currentHeading,
  currentScreen,
  hasScreens,
  navigationCount,
  reopen,
  visibleScreens,
} from './navigation.ts'
import { type Identity, type SessionStatus, session, sessionStatus, signOut } from './session.ts'
import { addKey, endedPage, signInPage } from './sign-in.ts'

/** Wide enough for the navigation beside the page; style.css has the same width. */
const wideQuery = globalThis.matchMedia?.('(min-width: 56rem)')
const isWide = signal(wideQuery?.matches ?? true)
wideQuery?.addEventListener('change', ({ matches }) => {
  isWide.value = matches
})
const isMenuOpen = signal(false)

const links = (): TemplateResult => {
  const open = currentScreen.value.screen?.path ?? ''
  return html`<ul>
    ${visibleScreens().map(
      ({ path, nav }) => html`<li>
        <a href=${`#${path}`} aria-current=${open === path ? 'page' : open.startsWith(`${path}/`) ? 'true' : nothing}>${nav}</a>
      </li>`,
    )}
  </ul>`
}

const identity = (kind: string, holder: Identity | undefined): TemplateResult | typeof nothing =>
  holder === undefined
    ? nothing
    : html`<p><span class="badge">${kind}</span> <span class="clip">${holder.application.name}</span></p>`

const account = (): TemplateResult => {
  const signedIn = session.value
  const missing =
    signedIn?.management === undefined ? 'management' : signedIn.private === undefined ? 'private' : undefined
  const tenant = signedIn?.management?.tenant ?? signedIn?.private?.tenant
  return html`<section class="account" aria-label="Signed in as">
    ${tenant?.name === undefined ? nothing : html`<p class="clip soft">${tenant.name}</p>`}
    ${identity('management', signedIn?.management)} ${identity('private', signedIn?.private)}
    <div class="buttons">
      ${
        missing === undefined
          ? nothing
          : html`<button type="button" @click=${() => addKey(missing)}>Add the other key</button>`
      }
      <button
        type="button"
        @click=${() => {
          signOut().catch(() => notice('error', 'You are still signed in: Sidevault did not respond. Retry.'))
        }}
      >
        Sign out
      </button>
    </div>
  </section>`
}

const screenBody = (): TemplateResult => {
  const { instance, unavailable } = currentScreen.value
  if (unavailable === 'not found') return html`<p>There is no such page. Choose one from the navigation.</p>`
  if (unavailable === 'not allowed')
    return html`<p>
      Your keys do not have permission to see this page. Add the other key, or sign in with a key that has it.
    </p>`
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
      <details
        ?open=${isWide.value || isMenuOpen.value}
        @toggle=${(event: Event) => {
          if (!isWide.peek()) isMenuOpen.value = (event.target as HTMLDetailsElement).open
        }}
      >
        <summary>Menu</summary>
        <div class="menu">
          <nav aria-label="Screens">${links()}</nav>
          ${account()}
        </div>
      </details>
      <a class="brand" href="#/">
        <svg viewBox="0 0 20 20" aria-hidden="true"><path d="M3 3h14v14H3z" /><path d="M10 6.5v7M6.5 10h7" /></svg>
        Sidevault
      </a>
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
  // The form that had the focus is gone.
  if (status === 'signed in' && statusBefore !== 'unknown') queueMicrotask(focusHeading)
  statusBefore = status
})

effect(() => {
  if (navigationCount.value < 2) return
  isMenuOpen.value = false
  queueMicrotask(() => {
    scrollTo(0, 0)
    focusHeading()
  })
})
