import { html } from '../../kit/html.ts'
import type { Screen } from '../../kit/screen.ts'

export const auditScreens: readonly Screen[] = [
  {
    path: '/audit',
    title: 'Audit',
    nav: 'Audit',
    needs: (may) => may('log:read'),
    open: () => ({ view: () => html`<p>Nothing here yet.</p>` }),
  },
]
