/** The function that the snapshot leaves (`../abi.ts`, INSTALL): it opens the border and closes the realm's own door. */
import type { HostAsync, HostDone, HostSync } from '../abi.ts'
import { openBorder } from './border.ts'
import { enter } from './enter.ts'
import { exposeGlobals } from './globals.ts'
import { deleteProperty, parse } from './intrinsics.ts'

// ways to memory that no limit counts, and to clocks made of threads; Node 16's code seldom knows them
for (const name of ['resize', 'resizable', 'maxByteLength', 'transfer', 'transferToFixedLength', 'detached'])
  Reflect.deleteProperty(ArrayBuffer.prototype, name)

/** Those that V8 puts into each context anew. */
const removeUncounted = () => {
  deleteProperty(globalThis, 'WebAssembly')
  deleteProperty(globalThis, 'SharedArrayBuffer')
  deleteProperty(globalThis, 'Atomics')
}

exposeGlobals()

export const install = (hostSync: HostSync, hostAsync: HostAsync, hostDone: HostDone, settings: string) => {
  removeUncounted()
  openBorder({ hostSync, hostAsync, hostDone, settings: parse(settings) })
  return enter
}
