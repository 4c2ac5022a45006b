import { codeCheck } from '../../kit/code-check.ts'
import { codeEditor } from '../../kit/code-editor.ts'
import { applicationField, chosenEntity, entityChoice } from '../../kit/entity-choice.ts'
import { type Field, form, formAction, issue, NAME, readFields } from '../../kit/form.ts'
import { html, nothing } from '../../kit/html.ts'
import { creator } from '../../kit/idempotency.ts'
import { notice } from '../../kit/notice.ts'
import type { Screen } from '../../kit/screen.ts'
import { link } from '../../router.ts'
import { type Formula, type Reactor, SAMPLE } from './types.ts'
import { valueFields, valuePlaces, valuesIn } from './values.ts'

export const newReactorScreen: Screen = {
  path: '/reactors/new',
  title: 'New reactor',
  needs: (may) => may('reactor:create') && may('reactor:read'),
  open: ({ api, navigate, filters, setFilters, signal }) => {
    const path = '/reactor-formulas'
    const formulas = entityChoice<Formula>({ api, path, allowed: true, signal })
    const chosen = () => filters.value.get('formula') ?? ''
    const formula = chosenEntity<Formula>({
      api,
      path,
      id: chosen,
      candidates: () => formulas.options.value ?? (formulas.loading.value ? undefined : []),
      signal,
    })
    const fields: readonly Field[] = [
      NAME,
      {
        name: 'formula',
        label: 'Formula',
        hint: 'Its code, with values of this reactor.',
        control: () =>
          formulas.control({
            name: 'formula',
            chosen: chosen(),
            none: 'None: code of its own',
            change: (id) => setFilters({ formula: id.trim() }),
          }),
      },
      applicationField({ api, signal }, 'Its code acts as this application.'),
    ]
    const editor = codeEditor({ id: 'reactor-code', label: 'Code', text: SAMPLE })
    const check = codeCheck({
      api,
      signal,
      path: '/reactors/check-code',
      body: () => (chosen() !== '' || editor.text.value === '' ? undefined : { code: editor.text.value }),
    })
    const create = creator<Reactor>(api, '/reactors')
    const action = formAction((data) =>
      check.save(async () => {
        const { id } = await create({
          ...readFields(fields, data),
          ...(chosen() === ''
            ? { code: editor.text.peek() }
            : { configuration: valuesIn(data, formula.peek()?.configuration ?? [], {}) }),
        })
        notice('done', 'Reactor created.')
        navigate(link`/reactors/${id}`)
      }),
    )
    return {
      view: () => {
        const elements = formula.value?.configuration ?? []
        return form({
          action,
          fields,
          submit: 'Create reactor',
          buttons: html`<a class="button" href="#/reactors">Cancel</a>`,
          places: ['code', ...valuePlaces(elements)],
          more: (error) => {
            if (chosen() === '')
              return editor.view({ problems: check.problems('code'), error: issue(error, 'code') })
            return elements.length === 0
              ? nothing
              : html`<fieldset class="elements">
                  <legend>Values</legend>
                  ${valueFields(elements, {}, error)}
                </fieldset>`
          },
        })
      },
    }
  },
}
