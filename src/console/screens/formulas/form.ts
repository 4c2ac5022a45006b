import { path } from '../../api/client.ts'
import { codeCheck } from '../../kit/code-check.ts'
import { confirm } from '../../kit/dialog.ts'
import { field, formAction, formProblem, issue } from '../../kit/form.ts'
import { html, nothing, type TemplateResult } from '../../kit/html.ts'
import { createIdempotencyKey } from '../../kit/idempotency.ts'
import { notice } from '../../kit/notice.ts'
import { saveLatest } from '../../kit/save-latest.ts'
import type { ScreenContext } from '../../kit/screen.ts'
import { type ReadonlySignal, signal } from '../../kit/signals.ts'
import { confirmOverwrite, storedCode } from '../../kit/stored-code.ts'
import { may } from '../../session.ts'
import { elementsEditor, elementsOf } from './elements.ts'
import { SAMPLE } from './sample.ts'
import type { Formula, Parameter } from './types.ts'

const PLACES = ['name', 'description', 'type', 'code']

/** Rows have every member that an editor changes. */
const rowsOf = (elements: Formula['configuration']): readonly Parameter[] =>
  elements.map((element) => ({ optional: false, ...element }))

/** Members that the form changes besides the code. */
const membersOf = ({ name, description, configuration, request_parameters }: Formula) => ({
  name,
  description,
  configuration,
  request_parameters,
})

/** Asks when members other than code were changed since the formula was opened: a save replaces all of it. */
const confirmNewer = async (opened: Formula, now: Formula): Promise<boolean> =>
  JSON.stringify(membersOf(now)) === JSON.stringify(membersOf(opened)) ||
  confirm({
    title: 'The formula was changed since you opened it',
    body: 'Saving replaces all of it: name, description, code, values and arguments.',
    action: 'Replace it',
    danger: true,
  })

/** The form of a stored formula, or of a new one. */
export const formulaForm = (
  { api, signal: within }: ScreenContext,
  stored: ReadonlySignal<Formula> | undefined,
  saved: (formula: Formula) => void,
): (() => TemplateResult) => {
  const first = stored?.peek()
  const configuration = signal(rowsOf(first?.configuration ?? []))
  const parameters = signal(rowsOf(first?.request_parameters ?? []))
  const code = storedCode(
    { id: `formula-${first?.id ?? 'new'}`, label: 'Code' },
    () => stored?.value.code ?? SAMPLE,
    within,
  )
  const check = codeCheck({
    api,
    signal: within,
    path: '/reactors/check-code',
    body: () => (code.text.value === '' ? undefined : { code: code.text.value }),
  })
  const idempotency = createIdempotencyKey()
  const send = (body: object): Promise<Formula> =>
    first === undefined
      ? api.call('POST', '/reactor-formulas', { body, headers: idempotency.headers(body) })
      : api.call('PUT', path`/reactor-formulas/${first.id}`, { body })

  const save = formAction(async (fields) => {
    const description = String(fields.get('description') ?? '')
    const opened = stored?.peek()
    if (!(await check.confirm())) return
    const bodyOver = (now: Formula | undefined) => ({
      name: String(fields.get('name') ?? ''),
      type: now?.type ?? 'private',
      ...(description === '' ? {} : { description }),
      ...(now?.icon === undefined ? {} : { icon: now.icon }),
      code: code.value(),
      configuration: elementsOf(configuration.peek(), 'configuration'),
      request_parameters: elementsOf(parameters.peek(), 'request_parameters'),
    })
    try {
      const formula =
        opened === undefined
          ? await send(bodyOver(undefined))
          : await saveLatest({
              read: () => api.call<Formula>('GET', path`/reactor-formulas/${opened.id}`, { signal: within }),
              part: (now) => [now.code, membersOf(now)],
              confirmedPart: [code.base(), membersOf(opened)],
              ask: async (now) =>
                (await confirmOverwrite([{ code, now: now.code }])) && (await confirmNewer(opened, now)),
              save: (now) => send(bodyOver(now)),
            })
      if (formula === undefined) return
      idempotency.reset()
      if (first === undefined) code.discard()
      notice(
        'done',
        first === undefined ? 'Formula created.' : 'Formula saved. Its reactors run it from now on.',
      )
      saved(formula)
    } catch (thrown) {
      check.showIssues(thrown)
      throw thrown
    }
  })

  return () => {
    const error = save.error.value
    const isAllowed = may(first === undefined ? 'reactor:create' : 'reactor:update')
    return html`
      ${formProblem(error, PLACES)}
      <form
        @submit=${save.run}
      >
        <fieldset class="bare" ?disabled=${!isAllowed}>
          ${field({
            label: 'Name',
            error: issue(error, 'name'),
            control: html`<input name="name" required maxlength="200" autocomplete="off" .value=${stored?.value.name ?? ''} />`,
          })}
          ${field({
            label: 'Description',
            error: issue(error, 'description'),
            control: html`<textarea name="description" rows="2" maxlength="1000" .value=${stored?.value.description ?? ''}></textarea>`,
          })}
          ${code.view({ problems: check.problems('code'), error: issue(error, 'code'), readonly: !isAllowed })}
          ${elementsEditor({
            member: 'configuration',
            legend: 'Values of a reactor',
            hint: 'Each reactor has to give them. The code reads them as configuration.',
            rows: configuration,
            error,
          })}
          ${elementsEditor({
            member: 'request_parameters',
            legend: 'Arguments of a call',
            hint: 'Each call has to give them, unless they are optional. Dots nest: customer.name.',
            rows: parameters,
            error,
          })}
          ${
            isAllowed
              ? html`<div class="buttons">
                  <button class="primary" ?disabled=${save.busy.value}>
                    ${first === undefined ? 'Create formula' : 'Save formula'}
                  </button>
                  ${first === undefined ? html`<a class="button" href="#/formulas">Cancel</a>` : nothing}
                </div>`
              : html`<p class="soft">Your key may not change formulas.</p>`
          }
        </fieldset>
      </form>
    `
  }
}
