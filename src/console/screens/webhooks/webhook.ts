import { button } from '../../kit/button.ts'
import { confirm } from '../../kit/dialog.ts'
import { type EntityPage, entityScreen, settingsForm } from '../../kit/entity-screen.ts'
import { action, type Field, fieldChanges } from '../../kit/form.ts'
import { html, nothing, type TemplateResult } from '../../kit/html.ts'
import { problem } from '../../kit/problem.ts'
import { relativeTime } from '../../kit/time.ts'
import { may } from '../../session.ts'
import { deliveriesSection } from './deliveries.ts'
import { eventTypes, FIELDS, showSecret } from './fields.ts'
import type { Webhook } from './types.ts'

const STATUS: Field = {
  name: 'status',
  label: 'Status',
  hint: 'A disabled webhook keeps what waits for it for seven days.',
  choices: [
    ['enabled', 'enabled'],
    ['disabled', 'disabled'],
  ],
}

const settingsSection = ({ context, stored, path, show }: EntityPage<Webhook>): (() => TemplateResult) => {
  const fields = [...FIELDS, STATUS]
  const types = eventTypes(context)
  const patch = async (changes: object) => {
    const { name, url, events, include_metadata, status } = stored.peek()
    const body = { name, url, events, include_metadata, status, ...changes }
    show(await context.api.call<Webhook>('PUT', path, { body }))
  }
  return settingsForm<Webhook>(
    { patch },
    {
      permission: 'webhook:update',
      changes: (data) => fieldChanges(fields, { ...stored.peek() }, data),
      done: 'Settings saved.',
      view: () => ({ fields, values: { ...stored.value }, more: types }),
    },
  )
}

const secretSection = ({
  context,
  stored,
  path,
  load,
  show,
}: EntityPage<Webhook>): (() => TemplateResult) => {
  const replace = action(async () => {
    const isConfirmed = await confirm({
      title: `Replace the secret of ${stored.peek().name}?`,
      body: 'Requests are signed with both secrets for 24 hours, then with the new one only.',
      action: 'Replace',
    })
    if (!isConfirmed) return
    await showSecret(await context.api.call<Webhook>('POST', `${path}/rotate-secret`))
    show(await load())
  })
  return () => html`${replace.error.value === undefined ? nothing : problem(replace.error.value)}
    <p>Requests are signed as Standard Webhooks says. The secret is shown when it is made, and not again.</p>
    ${may('webhook:update') ? button('Replace secret', replace.run, { disabled: replace.busy.value }) : nothing}`
}

export const statusOf = ({ status, failing_since }: Webhook): TemplateResult => {
  if (status === 'disabled') return html`<span class="badge">disabled</span>`
  return failing_since === undefined
    ? html`<span class="badge good">enabled</span>`
    : html`<span class="badge bad">failing</span> since ${relativeTime(failing_since)}`
}

export const webhookScreen = entityScreen<Webhook>({
  what: 'Webhook',
  api: '/webhooks',
  screen: '/webhooks',
  permission: 'webhook',
  deletionText: 'Events that wait for it are not sent any more.',
  open: (page) => ({
    facts: () => [
      ['URL', html`<code>${page.stored.value.url}</code>`],
      ['Status', statusOf(page.stored.value)],
    ],
    sections: {
      Deliveries: deliveriesSection(page),
      Settings: settingsSection(page),
      Secret: secretSection(page),
    },
  }),
})
