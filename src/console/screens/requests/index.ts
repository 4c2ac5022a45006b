import { html } from '../../kit/html.ts'
import type { Screen } from '../../kit/screen.ts'

export const requestsScreens: readonly Screen[] = [
  {
    path: '/requests',
    title: 'Requests',
    nav: 'Requests',
    needs: (may) => may('log:read'),
    open: () => ({ view: () => html`<p>Nothing here yet.</p>` }),
  },
]
