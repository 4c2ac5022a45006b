import { copyable } from '../../kit/copy.ts'
import { type Field, form, formAction, NAME, readFields } from '../../kit/form.ts'
import { GUARD_MODES, guardField } from '../../kit/guard-modes.ts'
import { html, nothing, type TemplateResult } from '../../kit/html.ts'
import { notice } from '../../kit/notice.ts'
import { resource, show } from '../../kit/resource.ts'
import type { ScreenContext } from '../../kit/screen.ts'
import { facts } from '../../kit/section.ts'
import { signal } from '../../kit/signals.ts'
import { relativeTime } from '../../kit/time.ts'
import { may } from '../../session.ts'

interface TenantSettings {
  readonly name: string
  readonly settings: Readonly<Record<string, string>>
}

interface Tenant extends TenantSettings {
  readonly id: string
  readonly created_at?: string
  readonly modified_at?: string
}

const TEXTS: Readonly<Record<string, string>> = { true: 'on', false: 'off' }

const textOf = (value: string): string => TEXTS[value] ?? value

const setting = (
  name: string,
  label: string,
  hint: string,
  values: readonly string[] = ['false', 'true'],
) => ({
  name,
  label,
  hint,
  choices: values.map((value) => [value, textOf(value)] as const),
})

/** Settings of a tenant: what they do, and their values. */
const SETTINGS = [
  setting(
    'fingerprint_tokens',
    'Fingerprint all tokens',
    "Each new token gets a fingerprint by its type's default expression.",
  ),
  setting(
    'deduplicate_tokens',
    'Deduplicate tokens',
    'Creating a token with existing data returns the existing token.',
  ),
  setting(
    'strict_code',
    'Strict code',
    'Code that does not parse is rejected when it is saved, instead of a warning.',
  ),
  setting('grants_within_own', 'Grant within own', 'A key grants only what it holds itself.', [
    'true',
    'false',
  ]),
  setting(
    'unbound_destinations',
    'Unbound destinations',
    'Tunnels of the forward proxy to hosts that nothing binds: denied, or passed on unopened.',
    ['deny', 'tunnel'],
  ),
  setting('response_guard', guardField.label, guardField.hint, GUARD_MODES),
]

const FIELDS: readonly Field[] = [NAME, ...SETTINGS]

/** The body of an update that makes the changes of `draft` to `opened` in what is stored `now`. */
export const updateOf = (opened: TenantSettings, draft: TenantSettings, now: TenantSettings): object => {
  const changed = Object.entries(draft.settings).filter(([name, value]) => opened.settings[name] !== value)
  return {
    name: draft.name === opened.name ? now.name : draft.name,
    ...(changed.length === 0 ? {} : { settings: { ...now.settings, ...Object.fromEntries(changed) } }),
  }
}

const tenantFacts = ({ name, id, created_at, modified_at, settings }: Tenant): TemplateResult =>
  facts([
    ['Name', name],
    ['Id', copyable(id, 'tenant id')],
    ['Created', relativeTime(created_at)],
    ['Changed', relativeTime(modified_at)],
    ...SETTINGS.map(
      ({ name, label, hint }) =>
        [label, html`${textOf(settings[name] ?? '')} <span class="small soft">– ${hint}</span>`] as const,
    ),
  ])

/** Name and settings of the tenant, with a form for those who may change them. */
export const createTenant = ({ api, signal: within }: ScreenContext): (() => TemplateResult) => {
  const load = (signal: AbortSignal) => api.call<Tenant>('GET', '/tenants/self', { signal })
  const tenant = resource(load, within)
  /** The tenant as it was when its form was opened. */
  const opened = signal<Tenant | undefined>(undefined)
  const save = formAction(async (data) => {
    const before = opened.peek()
    if (before === undefined) return
    const { name, ...settings } = readFields(FIELDS, data) as Record<string, string>
    const body = updateOf(before, { name: name ?? '', settings }, await load(within))
    await api.call('PUT', '/tenants/self', { body })
    opened.value = undefined
    notice('done', 'Tenant saved.')
    tenant.reload()
  })
  const open = (loaded?: Tenant) => () => {
    save.reset()
    opened.value = loaded
  }
  const button = (label: string, run: () => void) =>
    html`<button type="button" @click=${run}>${label}</button>`

  return () =>
    show(tenant, (loaded) => {
      if (opened.value === undefined)
        return html`${tenantFacts(loaded)}
          ${may('tenant:update') ? html`<div class="buttons">${button('Change', open(loaded))}</div>` : nothing}`
      const { name, settings } = opened.value
      return html`<div class="card">
        ${form({
          action: save,
          fields: FIELDS,
          values: { ...settings, name },
          submit: 'Save',
          buttons: button('Cancel', open()),
        })}
      </div>`
    })
}
