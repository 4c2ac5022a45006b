import type { Plugin } from '../sdk/index.ts'

/**
 * Plugins so that each comes after those it requires, else as given; and the cycles that prevent it, each as the names
 * along it. Missing requirements are ignored: they are issues of their own.
 */
export const orderByRequirement = (
  plugins: readonly Plugin[],
): { readonly ordered: readonly Plugin[]; readonly cycles: readonly (readonly string[])[] } => {
  const byName = new Map(plugins.map((plugin) => [plugin.name, plugin]))
  const ordered: Plugin[] = []
  const cycles: string[][] = []
  const done = new Set<string>()
  const path: string[] = []

  const visit = (plugin: Plugin) => {
    if (done.has(plugin.name)) return
    const from = path.indexOf(plugin.name)
    if (from !== -1) {
      cycles.push([...path.slice(from), plugin.name])
      return
    }
    path.push(plugin.name)
    for (const name of plugin.requires ?? []) {
      const required = byName.get(name)
      if (required) visit(required)
    }
    path.pop()
    done.add(plugin.name)
    ordered.push(plugin)
  }
  for (const plugin of plugins) visit(plugin)
  return { ordered, cycles }
}
