import { path } from '../../api/client.ts'
import { field, formAction, formProblem, issue } from '../../kit/form.ts'
import { html, nothing, type TemplateResult } from '../../kit/html.ts'
import { listOf, showList } from '../../kit/list.ts'
import { notice, notifyResult } from '../../kit/notice.ts'
import type { ScreenContext } from '../../kit/screen.ts'
import { type Column, table } from '../../kit/table.ts'
import { relativeTime } from '../../kit/time.ts'
import { may } from '../../session.ts'

interface Invitation {
  readonly id: string
  readonly email: string
  readonly role: string
  readonly status: 'PENDING' | 'EXPIRED'
  readonly expires_at: string
}

/** Invitations to the tenant, and a form for another. Sidevault sends no mail. */
export const createInvitations = ({ api, signal }: ScreenContext): (() => TemplateResult) => {
  const invitations = listOf<Invitation>({ api, signal, path: '/tenants/self/invitations' })

  const send = formAction(async (fields, form) => {
    const body = Object.fromEntries([...fields].filter(([, value]) => value !== ''))
    await api.call('POST', '/tenants/self/invitations', { body })
    form.reset()
    notice('done', 'Invitation created. Sidevault sends no mail: pass it on yourself.')
    invitations.reload()
  })

  const change = async (method: 'POST' | 'DELETE', where: string, done: string): Promise<void> => {
    if (await notifyResult(api.call(method, where), done)) invitations.reload()
  }

  const buttons = ({ id, email }: Invitation): TemplateResult => html`<div class="buttons">
    ${
      may('tenant:invitation:update')
        ? html`<button
            type="button"
            aria-label=${`Renew the invitation of ${email}`}
            @click=${() => void change('POST', path`/tenants/self/invitations/${id}/resend`, 'Invitation renewed.')}
          >
            Renew
          </button>`
        : nothing
    }
    ${
      may('tenant:invitation:delete')
        ? html`<button
            type="button"
            aria-label=${`Withdraw the invitation of ${email}`}
            @click=${() => void change('DELETE', path`/tenants/self/invitations/${id}`, 'Invitation withdrawn.')}
          >
            Withdraw
          </button>`
        : nothing
    }
  </div>`

  const columns: readonly Column<Invitation>[] = [
    { head: 'Address', cell: ({ email }) => email },
    { head: 'Role', cell: ({ role }) => html`<span class="badge">${role.toLowerCase()}</span>` },
    { head: 'State', cell: ({ status }) => status.toLowerCase() },
    { head: 'Ends', cell: ({ expires_at }) => relativeTime(expires_at) },
    { head: 'Action', cell: buttons },
  ]

  const inviteForm = (): TemplateResult => html`<form
    class="filters"
    aria-label="Invite somebody"
    @submit=${send.run}
  >
    ${formProblem(send.error.value, ['email', 'role'])}
    ${field({
      label: 'Address',
      error: issue(send.error.value, 'email'),
      control: html`<input name="email" type="email" required maxlength="320" autocomplete="off" />`,
    })}
    ${field({
      label: 'Role',
      error: issue(send.error.value, 'role'),
      control: html`<input name="role" value="ADMIN" pattern="[A-Z][A-Z_]*" maxlength="50" autocomplete="off" />`,
    })}
    <button class="primary" ?disabled=${send.busy.value}>Invite</button>
  </form>`

  return () => html`${showList(invitations, (rows) =>
    table({ caption: 'Invitations', columns, rows, empty: 'No open invitations.' }),
  )}
  ${may('tenant:invitation:create') ? inviteForm() : nothing}`
}
