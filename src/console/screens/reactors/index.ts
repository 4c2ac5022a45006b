import { html } from '../../kit/html.ts'
import { namedListScreen } from '../../kit/named-list.ts'
import type { Screen } from '../../kit/screen.ts'
import { formulaScreen, newFormulaScreen } from './formula.ts'
import { newReactorScreen } from './new.ts'
import { codeOf, reactorScreen } from './reactor.ts'
import type { Formula, Reactor } from './types.ts'

const TABS = {
  label: 'Reactors and formulas',
  screens: [
    ['/reactors', 'Reactors'],
    ['/formulas', 'Formulas'],
  ],
} as const

const reactorList = namedListScreen<Reactor>({
  path: '/reactors',
  screen: '/reactors',
  title: 'Reactors',
  permission: 'reactor',
  create: 'New reactor',
  tabs: TABS,
  columns: [
    { head: 'Code', kind: 'wide', cell: codeOf },
    {
      head: 'Acts as',
      cell: ({ application }) => application?.name ?? html`<span class="soft">its caller</span>`,
    },
  ],
  empty: 'No reactors yet. A reactor is code that a call runs on values of tokens.',
})

const formulaList = namedListScreen<Formula>({
  path: '/reactor-formulas',
  screen: '/formulas',
  title: 'Formulas',
  permission: 'reactor',
  create: 'New formula',
  tabs: TABS,
  columns: [
    { head: 'Description', kind: 'wide', cell: ({ description }) => description },
    { head: 'Type', cell: ({ type }) => html`<span class="badge">${type}</span>` },
    { head: 'Values', kind: 'number', cell: ({ configuration }) => configuration.length },
    { head: 'Arguments', kind: 'number', cell: ({ request_parameters }) => request_parameters.length },
  ],
  empty: 'No formulas yet. A formula is code that several reactors run, each with its own values.',
})

const formulas = [{ ...formulaList, nav: undefined }, newFormulaScreen, formulaScreen]

export const reactorsScreens: readonly Screen[] = [
  reactorList,
  newReactorScreen,
  reactorScreen,
  ...formulas.map((screen) => ({ ...screen, under: '/reactors' })),
]
