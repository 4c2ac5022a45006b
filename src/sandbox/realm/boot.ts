type Factory = (exports: object, require: unknown, module: object, filename: string, dirname: string) => void
type Names = Readonly<Record<string, string>>

interface Loaded {
  exports: unknown
}

/**
 * Module loader of the snapshot; defines `installName` in the global object. Its source text runs there
 * (`String(boot)`), so it must not reference anything outside itself.
 */
export const boot = (
  global: object,
  installName: string,
  moduleOf: (id: string) => readonly [Factory, Names] | undefined,
  builtins: Names,
): void => {
  const { create, defineProperty, assign, hasOwn } = Object
  const { apply, deleteProperty } = Reflect
  const bare = <T extends object>(members: T): T => assign(create(null), members)

  const loaded: Record<string, Loaded> = create(null)
  const missing = (name: string) =>
    assign(new Error(`Cannot find module '${name}'`), { code: 'MODULE_NOT_FOUND' })

  const load = (id: string): unknown => {
    const known = loaded[id]
    if (known !== undefined) return known.exports
    const entry = moduleOf(id)
    if (entry === undefined) throw missing(id)
    const exports = {}
    const module: Loaded = { exports }
    loaded[id] = module
    const needs = bare(entry[1])
    const require = (name: string): unknown => {
      if (name === '#loader') return loader
      const need = needs[name]
      if (need === undefined) throw missing(name)
      return load(need)
    }
    try {
      apply(entry[0], exports, [exports, require, module, id, '/'])
    } catch (error) {
      deleteProperty(loaded, id)
      throw error
    }
    // a guest module whose export is not a plain list of names exports `builtin`
    if (module.exports === exports && hasOwn(exports, 'builtin'))
      module.exports = (exports as { builtin: unknown }).builtin
    return module.exports
  }

  const loader = { builtins: bare(builtins), load }
  const { install } = load('install.ts') as { install: (...args: unknown[]) => unknown }
  const installOnce = (...args: unknown[]) => {
    deleteProperty(global, installName)
    return apply(install, undefined, args)
  }
  const prepare = (names: readonly string[]) => {
    for (const name of names) load(loader.builtins[name]!)
  }
  defineProperty(global, installName, { configurable: true, value: assign(installOnce, { prepare }) })
}
