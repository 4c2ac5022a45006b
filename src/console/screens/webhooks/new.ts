import { form, formAction, readFields } from '../../kit/form.ts'
import { html } from '../../kit/html.ts'
import { creator } from '../../kit/idempotency.ts'
import type { Screen } from '../../kit/screen.ts'
import { link } from '../../router.ts'
import { eventTypes, FIELDS, showSecret } from './fields.ts'
import type { Webhook } from './types.ts'

export const newWebhookScreen: Screen = {
  path: '/webhooks/new',
  title: 'New webhook',
  needs: (may) => may('webhook:create') && may('webhook:read'),
  open: (context) => {
    const create = creator<Webhook>(context.api, '/webhooks')
    const types = eventTypes(context)
    const action = formAction(async (data) => {
      const created = await create(readFields(FIELDS, data))
      await showSecret(created)
      context.navigate(link`/webhooks/${created.id}`)
    })
    return {
      view: () =>
        form({
          action,
          fields: FIELDS,
          submit: 'Create webhook',
          buttons: html`<a class="button" href="#/webhooks">Cancel</a>`,
          more: types,
        }),
    }
  },
}
