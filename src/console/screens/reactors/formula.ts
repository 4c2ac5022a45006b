import { path as pathOf } from '../../api/client.ts'
import { codeCheck } from '../../kit/code-check.ts'
import { confirm } from '../../kit/dialog.ts'
import { entityScreen } from '../../kit/entity-screen.ts'
import { type Field, form, formAction, issue, NAME, readFields } from '../../kit/form.ts'
import { html, nothing, type TemplateResult } from '../../kit/html.ts'
import { creator } from '../../kit/idempotency.ts'
import { notice } from '../../kit/notice.ts'
import { saveLatest } from '../../kit/save-latest.ts'
import type { Screen, ScreenContext } from '../../kit/screen.ts'
import { type ReadonlySignal, signal } from '../../kit/signals.ts'
import { confirmOverwrite, storedCode } from '../../kit/stored-code.ts'
import { hashOf, link } from '../../router.ts'
import { may } from '../../session.ts'
import { elementsEditor, elementsOf } from './elements.ts'
import { type Formula, type Parameter, SAMPLE } from './types.ts'

const FIELDS: readonly Field[] = [
  NAME,
  { name: 'description', label: 'Description', kind: 'area', max: 1_000 },
]

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
const formulaForm = (
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
  const create = creator<Formula>(api, '/reactor-formulas')
  /** Replaces all of `opened`, but what only the API changes. */
  const replace = (opened: Formula, bodyOver: (now: Formula) => object) => {
    const path = pathOf`/reactor-formulas/${opened.id}`
    return saveLatest({
      read: () => api.call<Formula>('GET', path, { signal: within }),
      part: (now) => [now.code, membersOf(now)],
      confirmedPart: [code.base(), membersOf(opened)],
      ask: async (now) =>
        (await confirmOverwrite([{ code, now: now.code }])) && (await confirmNewer(opened, now)),
      save: (now) => api.call<Formula>('PUT', path, { body: bodyOver(now) }),
    })
  }

  const save = formAction((data) => {
    const opened = stored?.peek()
    return check.save(async () => {
      const bodyOver = (now?: Formula) => ({
        ...readFields(FIELDS, data),
        type: now?.type ?? 'private',
        ...(now?.icon === undefined ? {} : { icon: now.icon }),
        code: code.value(),
        configuration: elementsOf(configuration.peek(), 'configuration'),
        request_parameters: elementsOf(parameters.peek(), 'request_parameters'),
      })
      const formula = await (opened === undefined ? create(bodyOver()) : replace(opened, bodyOver))
      if (formula === undefined) return
      if (opened === undefined) code.discard()
      notice(
        'done',
        opened === undefined ? 'Formula created.' : 'Formula saved. Its reactors run it from now on.',
      )
      saved(formula)
    })
  })

  return () => {
    const isAllowed = may(first === undefined ? 'reactor:create' : 'reactor:update')
    return form({
      action: save,
      fields: FIELDS,
      values: { ...stored?.value },
      submit: first === undefined ? 'Create formula' : 'Save formula',
      buttons: first === undefined ? html`<a class="button" href="#/formulas">Cancel</a>` : nothing,
      isAllowed,
      places: ['code'],
      more: (error) => html`
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
      `,
    })
  }
}

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
  open: ({ context, stored, show }) => ({
    facts: () => [['Status', html`<span class="badge">${stored.value.status}</span>`]],
    sections: { Definition: formulaForm(context, stored, show) },
  }),
})
