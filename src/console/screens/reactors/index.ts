import { html } from '../../kit/html.ts'
import type { Screen } from '../../kit/screen.ts'

export const reactorsScreens: readonly Screen[] = [
  {
    path: '/reactors',
    title: 'Reactors',
    nav: 'Reactors',
    needs: (may) => may('reactor:read'),
    open: () => ({ view: () => html`<p>Nothing here yet.</p>` }),
  },
]
