import { html } from '../../kit/html.ts'
import type { Screen } from '../../kit/screen.ts'

export const tryCallScreens: readonly Screen[] = [
  {
    path: '/try',
    title: 'Try a call',
    nav: 'Try a call',
    needs: (may) => may('token:use'),
    open: () => ({ view: () => html`<p>Nothing here yet.</p>` }),
  },
]
