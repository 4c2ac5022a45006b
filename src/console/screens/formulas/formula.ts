import { copyable } from '../../kit/copy.ts'
import { entityScreen } from '../../kit/entity-screen.ts'
import { html, nothing } from '../../kit/html.ts'
import type { Screen } from '../../kit/screen.ts'
import { snippet } from '../../kit/snippet.ts'
import { relativeTime } from '../../kit/time.ts'
import { hashOf, link } from '../../router.ts'
import { may } from '../../session.ts'
import { formulaForm } from './form.ts'
import type { Formula } from './types.ts'

export const newFormulaScreen: Screen = {
  path: '/formulas/new',
  title: 'New formula',
  needs: (may) => may('reactor:create') && may('reactor:read'),
  open: (context) => ({
    view: formulaForm(context, undefined, ({ id }) => context.navigate(link`/formulas/${id}`)),
  }),
}

export const formulaScreen = entityScreen<Formula>({
  what: 'Formula',
  api: '/reactor-formulas',
  screen: '/formulas',
  permission: 'reactor',
  deletionText: 'A formula that reactors are made of cannot be deleted.',
  actions: (id) =>
    may('reactor:create')
      ? html`<a class="button" href=${hashOf('/reactors/new', { formula: id })}>New reactor of it</a>`
      : nothing,
  sections: ({ context, stored, path, show }) => {
    const form = formulaForm(context, stored, show)
    return () => {
      const { id, status, created_at, modified_at } = stored.value
      return html`<div>
          <dl class="facts">
            <dt>Id</dt>
            <dd>${copyable(id)}</dd>
            <dt>Status</dt>
            <dd><span class="badge">${status}</span></dd>
            <dt>Changed</dt>
            <dd>${relativeTime(modified_at ?? created_at)}</dd>
          </dl>
          <div class="buttons"><span class="soft">This formula in the API</span> ${snippet('GET', path)}</div>
        </div>
        <div>${form()}</div>`
    }
  },
})
