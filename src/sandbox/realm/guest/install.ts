/** The function INSTALL of the snapshot (`../abi.ts`): removes itself and returns the entry points. */
import { type Code, enter, setBody } from './entry-points.ts'
import { exposeGlobals } from './globals.ts'
import { deleteProperty } from './intrinsics.ts'

// access to uncounted memory, and to clocks made of threads; rarely used by code for Node 16
for (const name of ['resize', 'resizable', 'maxByteLength', 'transfer', 'transferToFixedLength', 'detached'])
  Reflect.deleteProperty(ArrayBuffer.prototype, name)

/** V8 adds these to each new context. */
const removeUncounted = () => {
  deleteProperty(globalThis, 'WebAssembly')
  deleteProperty(globalThis, 'SharedArrayBuffer')
  deleteProperty(globalThis, 'Atomics')
}

exposeGlobals()

export const install = (body?: Code) => {
  removeUncounted()
  setBody(body)
  return enter
}
