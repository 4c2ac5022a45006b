/** `node --import` of this file lets tests of plugins import `sidevault/sdk` and `sidevault/testing` from anywhere. */
import { provideSdk } from '../kernel/load/import-module.ts'

provideSdk()
