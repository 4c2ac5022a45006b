import { path } from '../../api/client.ts'
import { confirm } from '../../kit/dialog.ts'
import { html, nothing, type TemplateResult } from '../../kit/html.ts'
import { listOf, showList } from '../../kit/list.ts'
import { notifyResult } from '../../kit/notice.ts'
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

const OWNER = 'OWNER'

const nameOf = ({ user }: Member): string => user.email ?? user.id

/** People of the tenant. */
export const createMembers = ({ api, signal }: ScreenContext): (() => TemplateResult) => {
  const members = listOf<Member>({ api, signal, path: '/tenants/self/members' })

  const remove = async (member: Member): Promise<void> => {
    const title = `Remove ${nameOf(member)}?`
    const body = 'Keys of applications stay as they are.'
    if (!(await confirm({ title, body, action: 'Remove', danger: true }))) return
    const removal = api.call('DELETE', path`/tenants/self/members/${member.id}`)
    if (await notifyResult(removal, 'Member removed.')) members.reload()
  }

  return () =>
    showList(members, (rows) =>
      table({
        caption: 'Members',
        rows,
        columns: [
          { head: 'Member', cell: (member) => member.user.email ?? html`<code>${member.user.id}</code>` },
          { head: 'Role', cell: ({ role }) => html`<span class="badge">${role.toLowerCase()}</span>` },
          { head: 'Since', cell: ({ created_at }) => relativeTime(created_at) },
          ...(may('tenant:member:delete')
            ? [
                {
                  head: 'Action',
                  cell: (member: Member) =>
                    member.role === OWNER
                      ? nothing
                      : html`<button type="button" aria-label=${`Remove ${nameOf(member)}`} @click=${() => void remove(member)}>
                          Remove
                        </button>`,
                },
              ]
            : []),
        ],
      }),
    )
}
