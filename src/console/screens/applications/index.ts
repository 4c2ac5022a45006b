import { html } from '../../kit/html.ts'
import type { Screen } from '../../kit/screen.ts'

export const applicationsScreens: readonly Screen[] = [
  {
    path: '/applications',
    title: 'Applications',
    nav: 'Applications',
    needs: (may) => may('application:read'),
    open: () => ({ view: () => html`<p>Nothing here yet.</p>` }),
  },
]
