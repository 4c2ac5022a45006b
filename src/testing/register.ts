/**
 * Load with `node --import`: tests of plugins can then import `sidevault/sdk` and `sidevault/testing` from any
 * folder.
 */
import { provideSdk } from '../kernel/load/import-module.ts'

provideSdk()
