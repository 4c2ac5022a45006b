import type { Screen } from './kit/screen.ts'
import { applicationsScreens } from './screens/applications/index.ts'
import { auditScreens } from './screens/audit/index.ts'
import { overviewScreens } from './screens/overview/index.ts'
import { proxiesScreens } from './screens/proxies/index.ts'
import { reactorsScreens } from './screens/reactors/index.ts'
import { requestsScreens } from './screens/requests/index.ts'
import { settingsScreens } from './screens/settings/index.ts'
import { tokensScreens } from './screens/tokens/index.ts'
import { checkVault } from './screens/try/first-minute.ts'
import { tryCallScreens } from './screens/try/index.ts'
import { webhooksScreens } from './screens/webhooks/index.ts'
import { may, missingKey } from './session.ts'

/** Every screen, in the order of the navigation. */
export const screens: readonly Screen[] = [
  ...overviewScreens,
  ...requestsScreens,
  ...tryCallScreens,
  ...tokensScreens,
  ...applicationsScreens,
  ...proxiesScreens,
  ...reactorsScreens,
  ...webhooksScreens,
  ...auditScreens,
  ...settingsScreens,
]

/** Path of the screen that `#/` opens: the first minute on an empty vault, *Tokens* with a private key alone. */
export const landing = async (): Promise<string> => {
  if (missingKey() === 'management') return tokensScreens[0]?.needs(may) ? '/tokens' : '/overview'
  const first = (await checkVault()) ? tryCallScreens.find(({ needs }) => needs(may)) : undefined
  return first?.path ?? '/overview'
}
