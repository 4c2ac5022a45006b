// Entry point of a child: plain JavaScript, passed to Node as text. A child can neither read the project's files nor
// strip types, so its modules arrive first on the stream, by URL.
import { readSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { Socket } from 'node:net'
import { setFlagsFromString } from 'node:v8'

const FD = 3

// WebAssembly promises cost a tenth of each context and are removed from it; Node enables them after its command line
setFlagsFromString('--no-experimental-wasm-jspi')

const read = (bytes) => {
  const buffer = Buffer.allocUnsafe(bytes)
  for (let at = 0; at < bytes; ) {
    const got = readSync(FD, buffer, at, bytes - at)
    if (got === 0) process.exit(1)
    at += got
  }
  return buffer
}

const { modules, installed, main, realm, start } = JSON.parse(read(read(4).readUInt32BE(0)).toString())
registerHooks({
  resolve: (specifier, context, next) => {
    const ours = Object.hasOwn(modules, context.parentURL ?? '')
    const url = ours && specifier.startsWith('.') ? new URL(specifier, context.parentURL).href : specifier
    if (Object.hasOwn(modules, url)) return { url, format: 'module', shortCircuit: true }
    // packages are resolved from the readable folder
    return next(specifier, ours ? { ...context, parentURL: installed } : context)
  },
  load: (url, context, next) =>
    Object.hasOwn(modules, url)
      ? { format: 'module', source: modules[url], shortCircuit: true }
      : next(url, context),
})
const [{ runChild }, { createHostSync }] = [await import(main), await import(realm)]
runChild(new Socket({ fd: FD, readable: true, writable: true }), FD, start, { createHostSync })
