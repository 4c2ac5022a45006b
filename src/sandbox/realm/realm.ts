/** What runs inside an isolate, and what answers it there and then (`./abi.ts`, Realm). */
import type { Realm } from './abi.ts'
import { createHostSync } from './host/host.ts'
import { realmText } from './sources.ts'

export { createHostSync }

export const realmScripts: Realm['realmScripts'] = (packages) => [
  { filename: 'sidevault', code: realmText(packages) },
]
