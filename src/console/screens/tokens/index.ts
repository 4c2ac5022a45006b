import { html } from '../../kit/html.ts'
import type { May, Opened, Screen } from '../../kit/screen.ts'
import { untracked } from '../../kit/signals.ts'
import { may } from '../../session.ts'
import { openList } from './list.ts'
import { lookup } from './lookup.ts'
import { openToken } from './token.ts'

const lists = (may: May): boolean => may('token:read') || may('token:search')
const shows = (may: May): boolean => may('token:read') || may('application:read') || may('log:read')

export const tokensScreens: readonly Screen[] = [
  {
    path: '/tokens',
    title: 'Tokens',
    nav: 'Tokens',
    needs: (may) => lists(may) || shows(may),
    open: (context) => {
      // A key that lists tokens may be added while the screen is open.
      let list: Opened | undefined
      const opened = () => {
        if (lists(may)) list ??= untracked(() => openList(context))
        return list
      }
      return {
        view: () => opened()?.view() ?? lookup(context),
        actions: () => opened()?.actions?.() ?? html``,
        close: () => list?.close?.(),
      }
    },
  },
  { path: '/tokens/:id', title: 'Token', needs: shows, open: openToken },
]
