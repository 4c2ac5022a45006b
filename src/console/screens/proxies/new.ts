import { action, field, formProblem, issue } from '../../kit/form.ts'
import { html } from '../../kit/html.ts'
import { createIdempotencyKey } from '../../kit/idempotency.ts'
import { notice } from '../../kit/notice.ts'
import type { Screen } from '../../kit/screen.ts'
import { signal } from '../../kit/signals.ts'
import { link } from '../../router.ts'
import type { StoredProxy } from './types.ts'

export const newScreen: Screen = {
  path: '/proxies/new',
  title: 'New proxy',
  needs: (may) => may('proxy:create') && may('proxy:read'),
  open: ({ api, navigate }) => {
    const input = signal({ name: '', destination_url: '' })
    const idempotency = createIdempotencyKey()
    const create = action(async () => {
      const body = input.peek()
      const headers = idempotency.headers(body)
      const proxy = await api.call<StoredProxy>('POST', '/proxies', { body, headers })
      idempotency.reset()
      notice('done', 'Proxy created. Its code, settings and certificates are below.')
      navigate(link`/proxies/${proxy.id}`)
    })
    const member = (name: 'name' | 'destination_url') => (event: Event) => {
      input.value = { ...input.peek(), [name]: (event.target as HTMLInputElement).value }
    }
    return {
      view: () => html`
        ${formProblem(create.error.value, ['name', 'destination_url'])}
        <form class="form" @submit=${create.run}>
          ${field({
            label: 'Name',
            error: issue(create.error.value, 'name'),
            control: html`<input autocomplete="off" required maxlength="200" @input=${member('name')} />`,
          })}
          ${field({
            label: 'Destination URL',
            hint: 'Where its requests go. What a caller adds behind /proxy follows.',
            error: issue(create.error.value, 'destination_url'),
            control: html`<input
              type="url"
              autocomplete="off"
              required
              placeholder="https://api.example.com/v1"
              @input=${member('destination_url')}
            />`,
          })}
          <div class="buttons">
            <button class="primary" ?disabled=${create.busy.value}>Create proxy</button>
            <a class="button" href="#/proxies">Cancel</a>
          </div>
        </form>
      `,
    }
  },
}
