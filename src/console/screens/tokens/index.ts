import { html } from '../../kit/html.ts'
import type { Screen } from '../../kit/screen.ts'

export const tokensScreens: readonly Screen[] = [
  {
    path: '/tokens',
    title: 'Tokens',
    nav: 'Tokens',
    needs: (may) => may('token:read') || may('token:search'),
    open: () => ({ view: () => html`<p>Nothing here yet.</p>` }),
  },
]
