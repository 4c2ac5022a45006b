import { form, formAction, readFields } from '../../kit/form.ts'
import { html } from '../../kit/html.ts'
import { creator } from '../../kit/idempotency.ts'
import { notice } from '../../kit/notice.ts'
import type { Screen } from '../../kit/screen.ts'
import { link } from '../../router.ts'
import { FIELDS } from './settings.ts'
import type { StoredProxy } from './types.ts'

export const newScreen: Screen = {
  path: '/proxies/new',
  title: 'New proxy',
  needs: (may) => may('proxy:create') && may('proxy:read'),
  open: ({ api, navigate }) => {
    const create = creator<StoredProxy>(api, '/proxies')
    const action = formAction(async (data) => {
      const { id } = await create(readFields(FIELDS, data))
      notice('done', 'Proxy created. Its code, settings and certificates are below.')
      navigate(link`/proxies/${id}`)
    })
    return {
      view: () =>
        form({
          action,
          fields: FIELDS,
          submit: 'Create proxy',
          buttons: html`<a class="button" href="#/proxies">Cancel</a>`,
        }),
    }
  },
}
