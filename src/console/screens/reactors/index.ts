import { html } from '../../kit/html.ts'
import { namedList } from '../../kit/named-list.ts'
import type { Screen } from '../../kit/screen.ts'
import { relativeTime } from '../../kit/time.ts'
import { link } from '../../router.ts'
import { may } from '../../session.ts'
import { newReactorScreen } from './new.ts'
import { reactorScreen } from './reactor.ts'
import type { Reactor } from './types.ts'

const listScreen: Screen = {
  path: '/reactors',
  title: 'Reactors',
  nav: 'Reactors',
  needs: (may) => may('reactor:read'),
  open: (context) =>
    namedList<Reactor>(context, {
      path: '/reactors',
      screen: '/reactors',
      title: 'Reactors',
      create: may('reactor:create') ? 'New reactor' : undefined,
      columns: [
        { head: 'Name', cell: ({ name }) => name },
        {
          head: 'Code',
          kind: 'wide',
          cell: ({ formula }) =>
            formula === undefined
              ? html`<span class="soft">its own</span>`
              : html`<a href=${link`/formulas/${formula.id}`}>${formula.name}</a>`,
        },
        {
          head: 'Acts as',
          cell: ({ application }) => application?.name ?? html`<span class="soft">its caller</span>`,
        },
        { head: 'Changed', cell: ({ modified_at, created_at }) => relativeTime(modified_at ?? created_at) },
      ],
      empty: html`No reactors yet. A reactor is code that a call runs on values of tokens.`,
    }),
}

export const reactorsScreens: readonly Screen[] = [listScreen, newReactorScreen, reactorScreen]
