/** Scripts and host functions of the realm (`./abi.ts`, Realm). */
import { INSTALL, type Realm, type RealmSettings } from './abi.ts'
import { PRELOADED } from './builtins.ts'
import { createHostSync } from './host-functions/host.ts'
import { realmText } from './sources.ts'

export { createHostSync }

const SETTINGS: RealmSettings = { name: 'code', resultChars: 100, logLines: 1, logChars: 100 }

/** The path of every invocation. */
const WARM_UP = `{
  const enter = ${INSTALL}((exports, require, module) => { module.exports = async () => ({}) })
  enter('open', () => '{"ok":null}', ${JSON.stringify(JSON.stringify(SETTINGS))})
  enter('start', '{}', false)
}`

export const realmScripts: Realm['realmScripts'] = () => ({
  lean: { filename: 'sidevault', code: realmText() },
  ready: { filename: 'sidevault', code: `${INSTALL}.prepare(${JSON.stringify(PRELOADED)})` },
  warmUp: WARM_UP,
})
