/** The function that the snapshot leaves (`../abi.ts`, INSTALL): it closes the realm's own door and gives the ways in. */
import { type Code, enter, keep } from './entry-points.ts'
import { exposeGlobals } from './globals.ts'
import { deleteProperty } from './intrinsics.ts'

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

export const install = (body?: Code) => {
  removeUncounted()
  keep(body)
  return enter
}
