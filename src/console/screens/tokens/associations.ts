import { path } from '../../api/client.ts'
import type { Token } from '../../api/types.ts'
import { confirm } from '../../kit/dialog.ts'
import { action, field, formProblem } from '../../kit/form.ts'
import { html, nothing, type TemplateResult } from '../../kit/html.ts'
import { listOf, showList } from '../../kit/list.ts'
import { notice } from '../../kit/notice.ts'
import type { ScreenContext } from '../../kit/screen.ts'
import { table } from '../../kit/table.ts'
import { link } from '../../router.ts'
import { may } from '../../session.ts'
import { maskedData, metadataChips } from './cells.ts'
import { MASKED } from './types.ts'

/** Children of a token: needs `token:read`. */
export const createAssociations = ({ api, signal }: ScreenContext, id: string): (() => TemplateResult) => {
  const list = listOf<Token>({
    api,
    signal,
    path: path`/tokens/${id}/children`,
    query: () => MASKED,
    size: 20,
  })
  let form: HTMLFormElement | undefined
  const add = action(async () => {
    const input = form?.elements.namedItem('child')
    if (!(input instanceof HTMLInputElement) || input.value.trim() === '') return
    await api.call('POST', path`/tokens/${id}/children/${input.value.trim()}`)
    input.value = ''
    list.reload()
  })
  const remove = async (child: string) => {
    const isSure = await confirm({
      title: 'Remove the association?',
      body: html`<p>Both tokens stay. <code>${child}</code> is no longer a child of this token.</p>`,
      action: 'Remove',
    })
    if (!isSure) return
    await api
      .call('DELETE', path`/tokens/${id}/children/${child}`)
      .then(list.reload, (thrown: Error) => notice('error', thrown.message))
  }
  return () => html`${showList(list, (children) =>
    table<Token>({
      caption: 'Children',
      rows: children,
      key: (child) => child.id,
      link: (child) => link`/tokens/${child.id}`,
      empty: 'This token has no children.',
      columns: [
        { head: 'Child', kind: 'code', cell: (child) => html`<span class="one-line">${child.id}</span>` },
        { head: 'Type', cell: (child) => child.type },
        { head: 'Masked data', cell: maskedData },
        { head: 'Metadata', kind: 'wide', cell: metadataChips },
        {
          head: 'Change',
          cell: (child) =>
            may('token:delete')
              ? html`<button type="button" aria-label=${`Remove ${child.id}`} @click=${() => void remove(child.id)}>Remove</button>`
              : nothing,
        },
      ],
    }),
  )}
    <form
      class="inline"
      aria-label="Add a child"
      @submit=${(event: SubmitEvent) => {
        form = event.currentTarget as HTMLFormElement
        void add.run(event)
      }}
    >
      ${field({
        label: 'Add a child',
        control: html`<input name="child" placeholder="Id of a token" autocomplete="off" spellcheck="false" />`,
      })}
      <button ?disabled=${add.busy.value}>Add</button>
    </form>
    ${formProblem(add.error.value)}`
}
