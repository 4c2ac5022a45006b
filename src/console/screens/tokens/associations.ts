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

interface Side {
  readonly title: string
  /** Relation of the listed tokens to the token of the page. */
  readonly role: 'parent' | 'child'
  readonly list: string
  readonly empty: string
  readonly association: (other: string) => string
}

const createSide = ({ api, signal }: ScreenContext, side: Side): (() => TemplateResult) => {
  const { title, role, association } = side
  const list = listOf<Token>({ api, signal, path: side.list, query: () => MASK_ONLY, size: 20 })
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
  return () => html`<h3>${title}</h3>
    ${showList(list, (tokens) =>
      table<Token>({
        caption: title,
        rows: tokens,
        key: ({ id }) => id,
        link: ({ id }) => link`/tokens/${id}`,
        empty: side.empty,
        columns: [
          { head: 'Token', kind: 'code', cell: ({ id }) => html`<span class="one-line">${id}</span>` },
          { head: 'Type', cell: ({ type }) => type },
          { head: 'Masked data', cell: maskedData },
          { head: 'Metadata', kind: 'wide', cell: metadataChips },
          {
            head: 'Change',
            cell: ({ id }) =>
              may('token:delete')
                ? html`<button type="button" aria-label=${`Remove ${id}`} @click=${() => void remove(id)}>Remove</button>`
                : nothing,
          },
        ],
      }),
    )}
    <form
      class="inline"
      aria-label=${`Add a ${role}`}
      @submit=${add.run}
    >
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
  const parents = createSide(context, {
    title: 'Parents',
    role: 'parent',
    list: path`/tokens/${id}/parents`,
    empty: 'This token has no parents.',
    association: (other) => path`/tokens/${other}/children/${id}`,
  })
  const children = createSide(context, {
    title: 'Children',
    role: 'child',
    list: path`/tokens/${id}/children`,
    empty: 'This token has no children.',
    association: (other) => path`/tokens/${id}/children/${other}`,
  })
  return () => html`${parents()} ${children()}`
}
