import { html } from '../../kit/html.ts'
import { namedList } from '../../kit/named-list.ts'
import type { Screen } from '../../kit/screen.ts'
import { relativeTime } from '../../kit/time.ts'
import { may } from '../../session.ts'
import { formulaScreen, newFormulaScreen } from './formula.ts'
import type { Formula } from './types.ts'

const listScreen: Screen = {
  path: '/formulas',
  title: 'Formulas',
  nav: 'Formulas',
  needs: (may) => may('reactor:read'),
  open: (context) =>
    namedList<Formula>(context, {
      path: '/reactor-formulas',
      screen: '/formulas',
      title: 'Formulas',
      create: may('reactor:create') ? 'New formula' : undefined,
      columns: [
        { head: 'Name', cell: ({ name }) => name },
        { head: 'Description', kind: 'wide', cell: ({ description }) => description },
        { head: 'Type', cell: ({ type }) => html`<span class="badge">${type}</span>` },
        { head: 'Values', kind: 'number', cell: ({ configuration }) => configuration.length },
        { head: 'Arguments', kind: 'number', cell: ({ request_parameters }) => request_parameters.length },
        { head: 'Changed', cell: ({ modified_at, created_at }) => relativeTime(modified_at ?? created_at) },
      ],
      empty: html`No formulas yet. A formula is code that several reactors run, each with its own values.`,
    }),
}

export const formulasScreens: readonly Screen[] = [listScreen, newFormulaScreen, formulaScreen]
