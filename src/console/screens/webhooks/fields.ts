import { type Field, NAME } from '../../kit/form.ts'
import { html, nothing, type TemplateResult } from '../../kit/html.ts'
import { showNewSecret } from '../../kit/new-secret.ts'
import { resource } from '../../kit/resource.ts'
import type { ScreenContext } from '../../kit/screen.ts'
import { badges } from '../../kit/section.ts'
import type { Webhook } from './types.ts'

/** Fields of a webhook, new or stored. */
export const FIELDS: readonly Field[] = [
  NAME,
  {
    name: 'url',
    label: 'URL',
    hint: 'Events are posted there.',
    kind: 'url',
    required: true,
    placeholder: 'https://hooks.example.com/sidevault',
  },
  { name: 'events', label: 'Events', hint: 'Types, separated by commas.', kind: 'list', required: true },
  {
    name: 'include_metadata',
    label: 'Send metadata of tokens',
    hint: 'Events about tokens hold their metadata. Needs a key that manages applications.',
    kind: 'checkbox',
  },
]

/** The list of all types, to read and copy from. */
export const eventTypes = ({ api, signal }: ScreenContext): (() => TemplateResult | typeof nothing) => {
  const types = resource(
    (within) =>
      api.call<readonly { readonly value: string }[]>('GET', '/webhooks/event-types', { signal: within }),
    signal,
  )
  return () => {
    const all = types.value.value
    return all === undefined
      ? nothing
      : html`<details><summary>All types of events</summary>${badges(all.map(({ value }) => value))}</details>`
  }
}

/** Shows the secret of a webhook that was created, or got another one. */
export const showSecret = ({ name, secret }: Webhook): Promise<void> =>
  showNewSecret({
    title: `Secret of ${name}`,
    what: 'Secret',
    text: 'Store it with the receiver, which verifies signatures with it.',
    secret,
    missing: 'The secret was shown before. Replace it on the page of the webhook.',
  })
