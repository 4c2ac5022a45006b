import { copyable } from '../../kit/copy.ts'
import { action, choiceField, field, formProblem, issue, valueIn } from '../../kit/form.ts'
import { GUARD_MODES, guardField } from '../../kit/guard-modes.ts'
import { html, live, nothing, type TemplateResult } from '../../kit/html.ts'
import { notice } from '../../kit/notice.ts'
import { resource, show } from '../../kit/resource.ts'
import type { ScreenContext } from '../../kit/screen.ts'
import { signal } from '../../kit/signals.ts'
import { relativeTime } from '../../kit/time.ts'
import { may } from '../../session.ts'
import { type TenantSettings, updateOf } from './tenant-update.ts'

interface Tenant extends TenantSettings {
  readonly id: string
  readonly owner_id: string
  readonly created_at?: string
  readonly modified_at?: string
}

/** Settings of a tenant: their values, and what they do. */
const SETTINGS: Readonly<
  Record<string, { readonly label: string; readonly hint: string; readonly values: readonly string[] }>
> = {
  fingerprint_tokens: {
    label: 'Fingerprint all tokens',
    hint: "Each new token gets a fingerprint by its type's default expression.",
    values: ['false', 'true'],
  },
  deduplicate_tokens: {
    label: 'Deduplicate tokens',
    hint: 'Creating a token with existing data returns the existing token.',
    values: ['false', 'true'],
  },
  strict_code: {
    label: 'Strict code',
    hint: 'Code that does not parse is rejected when it is saved, instead of a warning.',
    values: ['false', 'true'],
  },
  grants_within_own: {
    label: 'Grant within own',
    hint: 'A key grants only what it holds itself.',
    values: ['true', 'false'],
  },
  unbound_destinations: {
    label: 'Unbound destinations',
    hint: 'Tunnels of the forward proxy to hosts that nothing binds: denied, or passed on unopened.',
    values: ['deny', 'tunnel'],
  },
  response_guard: { label: guardField.label, hint: guardField.hint, values: GUARD_MODES },
}

const TEXTS: Readonly<Record<string, string>> = { true: 'on', false: 'off' }

const text = (value: string): string => TEXTS[value] ?? value

const tenantFacts = (tenant: Tenant): TemplateResult => html`<dl class="facts">
  <dt>Name</dt><dd>${tenant.name}</dd>
  <dt>Id</dt><dd>${copyable(tenant.id, 'tenant id')}</dd>
  <dt>Created</dt><dd>${relativeTime(tenant.created_at)}</dd>
  <dt>Changed</dt><dd>${relativeTime(tenant.modified_at)}</dd>
  ${Object.entries(SETTINGS).map(
    ([name, { label, hint }]) => html`<dt>${label}</dt>
      <dd>${text(tenant.settings[name] ?? '')} <span class="small soft">– ${hint}</span></dd>`,
  )}
</dl>`

/** Name and settings of the tenant, with a form for those who may change them. */
export const createTenant = ({ api, signal: within }: ScreenContext): (() => TemplateResult) => {
  const load = (signal: AbortSignal) => api.call<Tenant>('GET', '/tenants/self', { signal })
  const tenant = resource(load, within)
  const draftTenant = signal<Tenant | undefined>(undefined)
  const save = action(async () => {
    const draft = draftTenant.peek()
    const opened = tenant.value.peek()
    if (draft === undefined || opened === undefined) return
    await api.call('PUT', '/tenants/self', { body: updateOf(opened, draft, await load(within)) })
    draftTenant.value = undefined
    notice('done', 'Tenant saved.')
    tenant.reload()
  })

  const form = (draft: Tenant): TemplateResult => html`<form class="card" @submit=${save.run}>
    ${formProblem(save.error.value, ['name'])}
    ${field({
      label: 'Name',
      error: issue(save.error.value, 'name'),
      control: html`<input
        required
        maxlength="200"
        .value=${live(draft.name)}
        @input=${(event: Event) => {
          draftTenant.value = { ...draft, name: valueIn(event) }
        }}
      />`,
    })}
    ${Object.entries(SETTINGS).map(([name, { label, hint, values }]) =>
      choiceField({
        label,
        hint,
        value: draft.settings[name] ?? '',
        choices: values.map((value) => [value, text(value)]),
        set: (value) => {
          draftTenant.value = { ...draft, settings: { ...draft.settings, [name]: value } }
        },
      }),
    )}
    <div class="buttons">
      <button
        type="button"
        @click=${() => {
          save.reset()
          draftTenant.value = undefined
        }}
      >
        Cancel
      </button>
      <button class="primary" ?disabled=${save.busy.value}>Save</button>
    </div>
  </form>`

  return () =>
    show(tenant, (loaded) =>
      draftTenant.value === undefined
        ? html`${tenantFacts(loaded)}
          ${
            may('tenant:update')
              ? html`<div class="buttons">
                  <button
                    type="button"
                    @click=${() => {
                      draftTenant.value = loaded
                    }}
                  >
                    Change
                  </button>
                </div>`
              : nothing
          }`
        : form(draftTenant.value),
    )
}
