import { path } from '../../api/client.ts'
import type { Token } from '../../api/types.ts'
import { confirm } from '../../kit/dialog.ts'
import { field, formAction, formProblem } from '../../kit/form.ts'
import { html, nothing, type TemplateResult } from '../../kit/html.ts'
import { listOf, showList } from '../../kit/list.ts'
import { notifyResult } from '../../kit/notice.ts'
import type { ScreenContext } from '../../kit/screen.ts'
import { table } from '../../kit/table.ts'
import { link } from '../../router.ts'
import { may } from '../../session.ts'
import { maskedData, metadataChips } from './cells.ts'
import { MASK_ONLY } from './types.ts'

/** The tokens on one side of a token, which are its parents or its children. */
const createSide = ({ api, signal }: ScreenContext, id: string, role: 'parent' | 'child') => {
  const [title, many] = role === 'parent' ? ['Parents', 'parents'] : ['Children', 'children']
  const association = (other: string) =>
    role === 'parent' ? path`/tokens/${other}/children/${id}` : path`/tokens/${id}/children/${other}`
  const where = `${path`/tokens/${id}`}/${many}`
  const list = listOf<Token>({ api, signal, path: where, query: () => MASK_ONLY, size: 20 })
  const add = formAction(async (fields, form) => {
    const other = String(fields.get('id') ?? '').trim()
    if (other === '') return
    await api.call('POST', association(other))
    form.reset()
    list.reload()
  })
  const remove = async (other: string) => {
    const isSure = await confirm({
      title: 'Remove the association?',
      body: html`<p>Both tokens stay. <code>${other}</code> is no longer a ${role} of this token.</p>`,
      action: 'Remove',
    })
    if (isSure && (await notifyResult(api.call('DELETE', association(other))))) list.reload()
  }
  const removeButton = ({ id }: Token) =>
    html`<button type="button" aria-label=${`Remove ${id}`} @click=${() => void remove(id)}>Remove</button>`
  return () => html`<h3>${title}</h3>
    ${showList(list, (rows) =>
      table<Token>({
        caption: title,
        rows,
        key: ({ id }) => id,
        link: ({ id }) => link`/tokens/${id}`,
        empty: `This token has no ${many}.`,
        columns: [
          { head: 'Token', kind: 'code', cell: ({ id }) => html`<span class="one-line">${id}</span>` },
          { head: 'Type', cell: ({ type }) => type },
          { head: 'Masked data', cell: maskedData },
          { head: 'Metadata', kind: 'wide', cell: metadataChips },
          { head: 'Change', cell: (other) => (may('token:delete') ? removeButton(other) : nothing) },
        ],
      }),
    )}
    <form class="inline" aria-label=${`Add a ${role}`} @submit=${add.run}>
      ${field({
        label: `Add a ${role}`,
        control: html`<input name="id" placeholder="Id of a token" autocomplete="off" spellcheck="false" />`,
      })}
      <button ?disabled=${add.busy.value}>Add</button>
    </form>
    ${formProblem(add.error.value)}`
}

/** Parents and children of a token: needs `token:read`. */
export const createAssociations = (context: ScreenContext, id: string): (() => TemplateResult) => {
  const sides = (['parent', 'child'] as const).map((role) => createSide(context, id, role))
  return () => html`${sides.map((side) => side())}`
}
