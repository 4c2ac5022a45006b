import { button } from '../../kit/button.ts'
import { copyable } from '../../kit/copy.ts'
import { type Field, form, formAction, NAME, readFields } from '../../kit/form.ts'
import { html, nothing, type TemplateResult } from '../../kit/html.ts'
import { notice } from '../../kit/notice.ts'
import { resource, show } from '../../kit/resource.ts'
import type { ScreenContext } from '../../kit/screen.ts'
import { facts } from '../../kit/section.ts'
import { signal } from '../../kit/signals.ts'
import { relativeTime } from '../../kit/time.ts'
import { may } from '../../session.ts'
import { SETTINGS, type TenantSettings, textOf, updateOf } from './tenant-settings.ts'

interface Tenant extends TenantSettings {
  readonly id: string
  readonly created_at?: string
  readonly modified_at?: string
}

const FIELDS: readonly Field[] = [NAME, ...SETTINGS]

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
