import { html } from '../../kit/html.ts'
import type { Screen } from '../../kit/screen.ts'

export const startScreens: readonly Screen[] = [
  {
    path: '/start',
    title: 'First minute',
    nav: 'First minute',
    needs: () => true,
    open: () => ({ view: () => html`<p>Nothing here yet.</p>` }),
  },
]
