import type { Screen } from '../../kit/screen.ts'
import { openDetail } from './detail.ts'
import { openList } from './list.ts'

export const requestsScreens: readonly Screen[] = [
  {
    path: '/requests',
    title: 'Requests',
    nav: 'Requests',
    needs: (may) => may('log:read'),
    open: openList,
  },
  { path: '/requests/:id', title: 'Request', needs: (may) => may('log:read'), open: openDetail },
]
