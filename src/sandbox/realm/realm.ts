/** What runs inside an isolate, and what answers it there and then (`./abi.ts`, Realm). */
import { INSTALL, type Realm } from './abi.ts'
import { READY } from './builtins.ts'
import { createHostSync } from './host/host.ts'
import { realmText } from './sources.ts'

export { createHostSync }

export const realmScripts: Realm['realmScripts'] = (packages) => ({
  lean: { filename: 'sidevault', code: realmText(packages) },
  ready: { filename: 'sidevault', code: `${INSTALL}.prepare(${JSON.stringify(READY)})` },
})
