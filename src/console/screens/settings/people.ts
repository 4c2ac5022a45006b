import { path } from '../../api/client.ts'
import { button } from '../../kit/button.ts'
import { confirm } from '../../kit/dialog.ts'
import { type Field, fieldList, formAction, formProblem, readFields } from '../../kit/form.ts'
import { html, nothing, type TemplateResult } from '../../kit/html.ts'
import { listOf, showList } from '../../kit/list.ts'
import { notice, notifyResult } from '../../kit/notice.ts'
import type { ScreenContext } from '../../kit/screen.ts'
import { table } from '../../kit/table.ts'
import { relativeTime } from '../../kit/time.ts'
import { may } from '../../session.ts'

interface Member {
  readonly id: string
  readonly role: string
  readonly user: { readonly id: string; readonly email?: string }
  readonly created_at?: string
}

interface Invitation {
  readonly id: string
  readonly email: string
  readonly role: string
  readonly status: 'PENDING' | 'EXPIRED'
  readonly expires_at: string
}

const ROLE = {
  head: 'Role',
  cell: ({ role }: { readonly role: string }) => html`<span class="badge">${role.toLowerCase()}</span>`,
}

/** A list of the API, and a button of a row that changes it. */
const changingList = <T>({ api, signal }: ScreenContext, where: string) => {
  const list = listOf<T>({ api, signal, path: where })
  const change = async (method: 'POST' | 'DELETE', changed: string, done: string): Promise<void> => {
    if (await notifyResult(api.call(method, changed), done)) list.reload()
  }
  return { list, change }
}

/** `label` and `what` together are its name. */
const rowButton = (label: string, what: string, run: () => unknown): TemplateResult =>
  button(label, run, { name: `${label} ${what}` })

/** People of the tenant. */
export const createMembers = (context: ScreenContext): (() => TemplateResult) => {
  const { list, change } = changingList<Member>(context, '/tenants/self/members')
  const nameOf = ({ user }: Member) => user.email ?? user.id
  const remove = async (member: Member): Promise<void> => {
    const title = `Remove ${nameOf(member)}?`
    const body = 'Keys of applications stay as they are.'
    if (await confirm({ title, body, action: 'Remove', danger: true }))
      await change('DELETE', path`/tenants/self/members/${member.id}`, 'Member removed.')
  }
  const action = {
    head: 'Action',
    cell: (member: Member) =>
      member.role === 'OWNER' ? nothing : rowButton('Remove', nameOf(member), () => remove(member)),
  }
  return () =>
    showList(list, (rows) =>
      table({
        caption: 'Members',
        rows,
        columns: [
          { head: 'Member', cell: ({ user }) => user.email ?? html`<code>${user.id}</code>` },
          ROLE,
          { head: 'Since', cell: ({ created_at }) => relativeTime(created_at) },
          ...(may('tenant:member:delete') ? [action] : []),
        ],
      }),
    )
}

const FIELDS: readonly Field[] = [
  { name: 'email', label: 'Address', kind: 'email', required: true, max: 320 },
  { name: 'role', label: 'Role', pattern: '[A-Z][A-Z_]*', max: 50 },
]

/** Invitations to the tenant, and a form for another. Sidevault sends no mail. */
export const createInvitations = (context: ScreenContext): (() => TemplateResult) => {
  const where = '/tenants/self/invitations'
  const { list, change } = changingList<Invitation>(context, where)
  const invite = formAction(async (data, form) => {
    await context.api.call('POST', where, { body: readFields(FIELDS, data) })
    form.querySelector<HTMLInputElement>('[type="email"]')!.value = ''
    notice('done', 'Invitation created. Sidevault sends no mail: pass it on yourself.')
    list.reload()
  })
  const buttons = ({ id, email }: Invitation): TemplateResult => {
    const what = `the invitation of ${email}`
    const own = where + path`/${id}`
    const renew = () => change('POST', `${own}/resend`, 'Invitation renewed.')
    const withdraw = () => change('DELETE', own, 'Invitation withdrawn.')
    return html`<div class="buttons">
      ${may('tenant:invitation:update') ? rowButton('Renew', what, renew) : nothing}
      ${may('tenant:invitation:delete') ? rowButton('Withdraw', what, withdraw) : nothing}
    </div>`
  }
  return () => html`${showList(list, (rows) =>
    table({
      caption: 'Invitations',
      rows,
      columns: [
        { head: 'Address', cell: ({ email }) => email },
        ROLE,
        { head: 'State', cell: ({ status }) => status.toLowerCase() },
        { head: 'Ends', cell: ({ expires_at }) => relativeTime(expires_at) },
        { head: 'Action', cell: buttons },
      ],
      empty: 'No open invitations.',
    }),
  )}
  ${
    may('tenant:invitation:create')
      ? html`<form class="filters" aria-label="Invite somebody" @submit=${invite.run}>
          ${formProblem(invite.error.value, ['email', 'role'])}
          ${fieldList(FIELDS, { role: 'ADMIN' }, invite.error.value)}
          <button class="primary" ?disabled=${invite.busy.value}>Invite</button>
        </form>`
      : nothing
  }`
}
