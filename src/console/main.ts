import { render } from './kit/html.ts'
import { notice } from './kit/notice.ts'
import { effect } from './kit/signals.ts'
import { startRouting } from './navigation.ts'
import { startSession } from './session.ts'
import { page } from './shell.ts'

const root = document.getElementById('root')
if (root === null) throw new Error('index.html has no element "root"')

effect(() => {
  render(page(), root)
})
startRouting().catch(() => notice('error', 'A part of the page did not load. Reload the page.'))
startSession().catch(() => {
  // the sign-in page shows the error of the next attempt
})
