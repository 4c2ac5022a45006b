import { closeDialogs, dialog } from './kit/dialog.ts'
import { field, formAction } from './kit/form.ts'
import { html, nothing, type TemplateResult } from './kit/html.ts'
import { icon } from './kit/icon.ts'
import { problem } from './kit/problem.ts'
import { type KeyKind, signIn } from './session.ts'

/** The form of a key. The key lives in the field until it is sent, and nowhere else. */
const createKeyForm = (label: string, done: () => void) => {
  const send = formAction(async (fields, form) => {
    const key = String(fields.get('key') ?? '').trim()
    if (key === '') return
    try {
      await signIn(key)
      done()
    } finally {
      form.reset()
      // The button that had the focus was disabled.
      form.querySelector('input')?.focus()
    }
  })
  return (hint: TemplateResult | string, cancel?: () => void): TemplateResult => html`<form
    class="key"
    @submit=${send.run}
  >
    ${field({
      label: 'API key',
      hint,
      error:
        send.error.value?.status === 400
          ? html`<span role="alert">${send.error.value.title}. ${send.error.value.detail}</span>`
          : undefined,
      control: html`<input name="key" type="password" autocomplete="off" spellcheck="false" autofocus required />`,
    })}
    ${send.error.value === undefined || send.error.value.status === 400 ? nothing : problem(send.error.value)}
    <div class="buttons">
      ${cancel === undefined ? nothing : html`<button type="button" @click=${cancel}>Cancel</button>`}
      <button class="primary" ?disabled=${send.busy.value}>${label}</button>
    </div>
  </form>`
}

const first = createKeyForm('Sign in', () => {})
const again = createKeyForm('Sign in', closeDialogs)

/** The page for a visitor who is not signed in. */
export const signInPage = (): TemplateResult => html`<main class="sign-in">
  <h1>Sidevault</h1>
  ${first(html`<code>npm start</code> printed the first one, or it is in <code>management.key</code> in the data directory.`)}
  <details>
    <summary>Which key?</summary>
    <p>The key of a <strong>management</strong> application shows requests, applications, proxies and the audit log.</p>
    <p>The key of a <strong>private</strong> application shows tokens, and tries calls. You can add the other one later.</p>
    <p>The key is exchanged for a cookie that ends after 30 minutes without use. It is stored nowhere.</p>
  </details>
</main>`

/** The session of an open page has ended: the page is hidden until the same keys sign in. */
export const endedPage = (): TemplateResult => html`<main class="sign-in">
  <h1>Your session ended</h1>
  <p>Sign in again to continue where you were. Another key reloads the page.</p>
  ${again('The same key as before.')}
</main>`

/** Asks for the key of the other kind. */
export const addKey = (kind: KeyKind): void => {
  void dialog({
    title: `Add a ${kind} key`,
    body: (() => {
      let form: ReturnType<typeof createKeyForm> | undefined
      return (close: () => void) => {
        form ??= createKeyForm('Add key', () => close())
        return form(
          kind === 'private'
            ? 'Key of a private application: shows tokens, and tries calls.'
            : 'Key of a management application: shows requests, applications, proxies and the audit log.',
          () => close(),
        )
      }
    })(),
  })
}

/** What a key of a kind shows, in the words of a button that asks for it. */
export const ADD_KEY: Readonly<Record<KeyKind, string>> = {
  management: 'Add a management key to see requests, applications …',
  private: 'Add a private key to see tokens',
}

/** Stands where something is missed without a key of the kind. */
export const addKeyButton = (
  kind: KeyKind,
): TemplateResult => html`<button type="button" class="add-key" @click=${() => addKey(kind)}>
  ${icon('add')} <span>${ADD_KEY[kind]}</span>
</button>`
