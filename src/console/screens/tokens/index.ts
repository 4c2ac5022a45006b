import { html } from '../../kit/html.ts'
import type { May, Screen } from '../../kit/screen.ts'
import { untracked } from '../../kit/signals.ts'
import { may } from '../../session.ts'
import { openList } from './list.ts'
import { lookup } from './lookup.ts'
import { openToken } from './token.ts'

const lists = (may: May): boolean => may('token:read') || may('token:search')
const shows = (may: May): boolean => may('token:read') || may('application:read') || may('log:read')

const PERMISSIONS = ['token:read', 'token:search', 'application:read', 'log:read']

/** Opens the screen again when a key is added: each kind of key shows parts that the other one may not see. */
const again =
  (open: Screen['open']): Screen['open'] =>
  (context) => {
    const held = () => PERMISSIONS.filter(may).join()
    let before = held()
    let opened = open(context)
    const current = () => {
      if (held() !== before) {
        before = held()
        opened.close?.()
        opened = untracked(() => open(context))
      }
      return opened
    }
    return {
      view: () => current().view(),
      actions: () => current().actions?.() ?? html``,
      close: () => opened.close?.(),
    }
  }

export const tokensScreens: readonly Screen[] = [
  {
    path: '/tokens',
    title: 'Tokens',
    nav: 'Tokens',
    needs: (may) => lists(may) || shows(may),
    open: again((context) => (lists(may) ? openList(context) : { view: () => lookup(context) })),
  },
  { path: '/tokens/:id', title: 'Token', needs: shows, open: again(openToken) },
]
