import { path } from '../../api/client.ts'
import { copyable } from '../../kit/copy.ts'
import { deletion } from '../../kit/deletion.ts'
import { html, nothing } from '../../kit/html.ts'
import { problem } from '../../kit/problem.ts'
import { resource, show } from '../../kit/resource.ts'
import type { Screen } from '../../kit/screen.ts'
import { signal } from '../../kit/signals.ts'
import { snippet } from '../../kit/snippet.ts'
import { when } from '../../kit/time.ts'
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

export const formulaScreen: Screen = {
  path: '/formulas/:id',
  title: 'Formula',
  needs: (may) => may('reactor:read'),
  open: (context) => {
    const { id = '' } = context.params
    const where = path`/reactor-formulas/${id}`
    const loaded = resource(async (abort) => {
      const first = await context.api.call<Formula>('GET', where, { signal: abort })
      const stored = signal(first)
      context.title(first.name)
      const form = formulaForm(context, stored, (saved) => {
        stored.value = saved
        context.title(saved.name)
      })
      return { stored, form }
    }, context.signal)
    const remove = deletion(context, {
      what: 'Formula',
      path: where,
      back: '#/formulas',
      body: 'A formula that reactors are made of cannot be deleted.',
      of: () => loaded.value.peek()?.stored.peek(),
    })
    return {
      actions: () =>
        loaded.value.value === undefined
          ? html``
          : html`${may('reactor:create') ? html`<a class="button" href=${hashOf('/reactors/new', { formula: id })}>New reactor of it</a>` : nothing}
            ${
              may('reactor:delete')
                ? html`<button type="button" class="danger" ?disabled=${remove.busy.value} @click=${remove.run}>
                    Delete
                  </button>`
                : nothing
            }`,
      view: () =>
        html`${remove.error.value === undefined ? nothing : problem(remove.error.value)}
        ${show(loaded, ({ stored, form }) => {
          const formula = stored.value
          return html`<div class="sections">
            <div>
            <dl class="facts">
              <dt>Id</dt>
              <dd>${copyable(formula.id)}</dd>
              <dt>Status</dt>
              <dd><span class="badge">${formula.status}</span></dd>
              <dt>Changed</dt>
              <dd>${when(formula.modified_at ?? formula.created_at)}</dd>
            </dl>
            <div class="buttons"><span class="soft">This formula in the API</span> ${snippet('GET', where)}</div>
            </div>
            ${form()}
          </div>`
        })}`,
    }
  },
}
