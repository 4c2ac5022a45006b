import { path } from '../../api/client.ts'
import type { Application } from '../../api/types.ts'
import { confirm } from '../../kit/dialog.ts'
import { action } from '../../kit/form.ts'
import { html, nothing, type TemplateResult } from '../../kit/html.ts'
import { createIdempotencyKey } from '../../kit/idempotency.ts'
import { showNewSecret } from '../../kit/new-secret.ts'
import { notice } from '../../kit/notice.ts'
import { problem } from '../../kit/problem.ts'
import { resource, show } from '../../kit/resource.ts'
import type { ScreenContext } from '../../kit/screen.ts'
import { table } from '../../kit/table.ts'
import { exactTime, relativeTime } from '../../kit/time.ts'
import { may, session } from '../../session.ts'
import { focus } from './fields.ts'

interface ApplicationKey {
  readonly id: string
  readonly version: string
  readonly created_at: string
  /** Expiry, for the key of one run of a command only. */
  readonly expires_at?: string
  /** The key itself, in the response that creates it only. */
  readonly key?: string
}

/** Time of an expiry, or "never". `note` follows the time. */
export const expiry = (at: string | undefined, note = ''): TemplateResult =>
  at === undefined
    ? html`<span class="soft">never</span>`
    : html`${relativeTime(at)} <span class="soft small">${note}</span>`

/** Whether a key of the application is signed in. */
export const isOwn = (id: string): boolean =>
  [session.value?.management, session.value?.private].some((identity) => identity?.application.id === id)

/** Shows a new key once; it leaves the page with the dialog. */
export const showKey = (name: string, key: string | undefined): Promise<void> =>
  showNewSecret({
    title: `Key of ${name}`,
    what: 'Key',
    text: 'Store it now: Sidevault has a hash of it only.',
    secret: key,
    missing: 'The key was shown before. Create another one, then delete this one.',
  })

/** Keys of an application, besides those of runs (completions §4). */
const MAX_KEYS = 3

/** Keys of an application: a second one is how a caller rotates without downtime. */
export const keysOf = ({ api, signal: within }: ScreenContext, { id, name }: Application) => {
  const where = path`/applications/${id}/keys`
  const keys = resource(async (signal) => {
    const all = await api.call<readonly ApplicationKey[]>('GET', where, { signal })
    return all.toSorted((a, b) => Number(b.version) - Number(a.version))
  }, within)

  const idempotency = createIdempotencyKey()
  const create = action(async () => {
    const created = await api.call<ApplicationKey>('POST', where, { headers: idempotency.headers(id) })
    idempotency.reset()
    keys.reload()
    await showKey(name, created.key)
  })

  let chosen: ApplicationKey | undefined
  const remove = action(async () => {
    if (chosen === undefined) return
    const { id: keyId, version, created_at } = chosen
    const isLast = keys.value.peek()?.length === 1
    const body = html`<p>
        Key ${version} of <strong>${name}</strong>, made on ${exactTime(created_at)}. Calls with it fail at once.
      </p>
      ${isLast ? html`<p><strong>It is the only key.</strong> The application cannot call until it gets another one.</p>` : nothing}
      ${isOwn(id) ? html`<p><strong>You are signed in with a key of this application.</strong> If it is this one, your session ends.</p>` : nothing}`
    if (!(await confirm({ title: `Delete key ${version}?`, body, action: 'Delete', danger: true }))) return
    await api.call('DELETE', path`/applications/${id}/keys/${keyId}`)
    notice('done', `Key ${version} deleted.`)
    focus('create-key')
    keys.reload()
  })
  const choose = (key: ApplicationKey) => () => {
    chosen = key
    void remove.run()
  }

  const createButton = (count: number) =>
    count >= MAX_KEYS
      ? html`<p class="soft">Three keys are the most. Delete one before you create another.</p>`
      : html`<p class="buttons">
          <button type="button" id="create-key" @click=${create.run}>
            ${count === 0 ? 'Create a key' : 'Create another key'}
          </button>
          ${count === 1 ? html`<span class="soft">To rotate: create a second key, deploy it, then delete the first.</span>` : nothing}
        </p>`

  const rows = (all: readonly ApplicationKey[]) => html`${table({
    caption: 'Keys',
    rows: all,
    key: (key) => key.id,
    columns: [
      { head: 'Key', cell: ({ version }) => `Key ${version}` },
      { head: 'Created', cell: ({ created_at }) => relativeTime(created_at) },
      { head: 'Expires', cell: ({ expires_at }) => expiry(expires_at, 'with its run') },
      ...(may('application:delete')
        ? [
            {
              head: 'Actions',
              cell: (key: ApplicationKey) =>
                html`<button type="button" aria-label=${`Delete key ${key.version}`} @click=${choose(key)}>Delete</button>`,
            },
          ]
        : []),
      { head: 'Id', kind: 'code', cell: (key) => key.id },
    ],
    empty: 'No key. The application cannot call.',
  })}
    ${
      may('application:create')
        ? createButton(all.filter(({ expires_at }) => expires_at === undefined).length)
        : nothing
    }`

  return (): TemplateResult => {
    const failed = create.error.value ?? remove.error.value
    return html`${failed === undefined ? nothing : problem(failed)} ${show(keys, rows)}`
  }
}
