import { codeCheck } from '../../kit/code-check.ts'
import { type CodeEditor, codeEditor } from '../../kit/code-editor.ts'
import { applicationChoice, chosenEntity, entityChoice } from '../../kit/entity-choice.ts'
import { field, formAction, formProblem, issue } from '../../kit/form.ts'
import { html, nothing } from '../../kit/html.ts'
import { createIdempotencyKey } from '../../kit/idempotency.ts'
import { notice } from '../../kit/notice.ts'
import type { Screen } from '../../kit/screen.ts'
import { link } from '../../router.ts'
import { SAMPLE } from '../formulas/sample.ts'
import type { Formula } from '../formulas/types.ts'
import type { Reactor } from './types.ts'
import { valueFields, valuesIn } from './values.ts'

export const newReactorScreen: Screen = {
  path: '/reactors/new',
  title: 'New reactor',
  needs: (may) => may('reactor:create') && may('reactor:read'),
  open: ({ api, navigate, filters, setFilters, signal }) => {
    const formulas = entityChoice<Formula>({ api, path: '/reactor-formulas', allowed: true, signal })
    const applications = applicationChoice({ api, signal })
    const chosen = () => filters.value.get('formula') ?? ''
    const formula = chosenEntity<Formula>({
      api,
      path: '/reactor-formulas',
      id: chosen,
      candidates: () => formulas.options.value ?? (formulas.loading.value ? undefined : []),
      signal,
    })
    const editor: CodeEditor = codeEditor({ id: 'reactor-code', label: 'Code', text: SAMPLE })
    const check = codeCheck({
      api,
      signal,
      path: '/reactors/check-code',
      body: () => (chosen() !== '' || editor.text.value === '' ? undefined : { code: editor.text.value }),
    })
    const idempotency = createIdempotencyKey()
    const create = formAction(async (fields) => {
      if (!(await check.confirm())) return
      const application = String(fields.get('application') ?? '').trim()
      const body = {
        name: String(fields.get('name') ?? ''),
        ...(chosen() === ''
          ? { code: editor.text.peek() }
          : {
              formula: { id: chosen() },
              configuration: valuesIn(fields, formula.peek()?.configuration ?? [], {}),
            }),
        ...(application === '' ? {} : { application: { id: application } }),
      }
      try {
        const reactor = await api.call<Reactor>('POST', '/reactors', {
          body,
          headers: idempotency.headers(body),
        })
        idempotency.reset()
        notice('done', 'Reactor created.')
        navigate(link`/reactors/${reactor.id}`)
      } catch (thrown) {
        check.showIssues(thrown)
        throw thrown
      }
    })
    return {
      view: () => {
        const error = create.error.value
        const elements = formula.value?.configuration ?? []
        return html`
          ${formProblem(error, ['name', 'formula.id', 'application.id', 'code', ...elements.map(({ name }) => `configuration.${name}`)])}
          <form
            @submit=${create.run}
          >
            <fieldset class="bare">
              ${field({
                label: 'Name',
                error: issue(error, 'name'),
                control: html`<input name="name" required maxlength="200" autocomplete="off" />`,
              })}
              ${field({
                label: 'Formula',
                hint: 'Its code, with values of this reactor.',
                error: issue(error, 'formula.id'),
                control: formulas.control({
                  name: 'formula',
                  chosen: chosen(),
                  none: 'None: code of its own',
                  change: (id) => setFilters({ formula: id.trim() }),
                }),
              })}
              ${field({
                label: 'Application',
                hint: 'Its code acts as this application.',
                error: issue(error, 'application.id'),
                control: applications.control({ name: 'application', chosen: undefined, none: 'None' }),
              })}
              ${
                chosen() === ''
                  ? editor.view({ problems: check.problems('code'), error: issue(error, 'code') })
                  : elements.length === 0
                    ? nothing
                    : html`<fieldset class="elements">
                        <legend>Values</legend>
                        ${valueFields(elements, {}, (place) => issue(error, place))}
                      </fieldset>`
              }
              <div class="buttons">
                <button class="primary" ?disabled=${create.busy.value}>Create reactor</button>
                <a class="button" href="#/reactors">Cancel</a>
              </div>
            </fieldset>
          </form>
        `
      },
    }
  },
}
