import { html } from '../../kit/html.ts'
import type { Screen } from '../../kit/screen.ts'

export const settingsScreens: readonly Screen[] = [
  {
    path: '/settings',
    title: 'Settings',
    nav: 'Settings',
    needs: (may) => may('tenant:read'),
    open: () => ({ view: () => html`<p>Nothing here yet.</p>` }),
  },
]
